#!/bin/bash -eu
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Builds every target of fuzz/ as OSS-Fuzz wants it: with its compilers, flags and engine, the
# programs, their corpora and dictionaries into $OUT. From the sources in $SRC/plumb, or, for a
# look at what comes of it, anywhere:
#
#     CC=clang CXX=clang++ CFLAGS="-O1 -g -fsanitize=address,undefined,fuzzer-no-link" \
#     LIB_FUZZING_ENGINE=-fsanitize=fuzzer SRC=/tmp/src OUT=/tmp/out fuzz/oss-fuzz/build.sh

folder=${WORK:-$(mktemp -d)}/plumb
cmake -S "$SRC/plumb" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=None \
      -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="$CFLAGS" \
      -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS="${CXXFLAGS:-$CFLAGS}" \
      -DPLUMB_FUZZ=ON -DPLUMB_FUZZ_ENGINE="$LIB_FUZZING_ENGINE"
ninja -C "$folder" fuzzers
for program in "$folder"/fuzz/fuzz_*; do
  name=${program##*/fuzz_}
  cp "$program" "$OUT/$name"
  (cd "$SRC/plumb/fuzz/corpus/$name" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" *)
  if [ -e "$SRC/plumb/fuzz/$name.dict" ]; then
    cp "$SRC/plumb/fuzz/$name.dict" "$OUT/"
  fi
done
