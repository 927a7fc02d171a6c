#!/bin/sh
set -eu
rm -rf out
mkdir out
javac -d out $(find junit src -name '*.java')
java -cp out Runner src/test/java
