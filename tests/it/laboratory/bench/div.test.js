const test = require('node:test');
const assert = require('node:assert');
const { div } = require('../src/calc.js');

test('divides', () => {
  assert.strictEqual(div(6, 3), 2);
});

test('refuses zero', () => {
  assert.throws(() => div(1, 0), RangeError);
});
