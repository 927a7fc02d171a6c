const test = require('node:test');
const assert = require('node:assert');
const { add } = require('../src/calc.js');

test('adds small numbers', () => {
  assert.strictEqual(add(1, 2), 3);
});

test('adds negative numbers', () => {
  const result = add(-1, -2);
  assert.strictEqual(result, -3);
  assert.ok(result < 0);
});
