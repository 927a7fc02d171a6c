import os
import unittest

from calc import add, report

HERE = os.path.dirname(os.path.abspath(__file__))


class Adds(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, 2), 3)

    def test_negative(self):
        result = add(-1, -2)
        self.assertEqual(result, -3)
        self.assertLess(result, 0)

    def test_many(self):
        for a, b, c in [(1, 1, 2), (2, 2, 4), (0, 0, 0), (7, 0, 7)]:
            self.assertEqual(add(a, b), c)

    def test_report(self):
        with open(os.path.join(HERE, "expected", "report.txt")) as expected:
            self.assertEqual(report(), expected.read())
