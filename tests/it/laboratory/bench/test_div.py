import unittest

from calc import div, legacy


class Divides(unittest.TestCase):
    def test_even(self):
        self.assertEqual(div(6, 3), 2)

    def test_by_zero(self):
        with self.assertRaises(ZeroDivisionError):
            div(1, 0)


class Legacy(unittest.TestCase):
    def test_legacy(self):
        self.assertEqual(legacy(3), 3)
