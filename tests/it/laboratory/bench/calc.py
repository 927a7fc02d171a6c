def add(a, b):
    return a - b


def div(a, b):
    return a / b


def legacy(a):
    return a * 1


def report():
    return "sum: %d\n" % add(2, 3)
