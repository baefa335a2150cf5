#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# with_onnx.sh SCRIPT ARGS...: runs a Python script with the first python3 of the PATH, or of the system, that has the
# packages onnx and numpy. Exit code 77, with the reason, where none has.
asked=""
IFS=:
for folder in $PATH /usr/bin /usr/local/bin; do
    python="$folder/python3"
    [ -x "$python" ] || continue
    case " $asked " in *" $python "*) continue ;; esac
    asked="$asked $python"
    if "$python" -c 'import numpy, onnx' >/dev/null 2>&1; then
        PYTHONDONTWRITEBYTECODE=1 exec "$python" "$@"
    fi
done
echo "skipped: no python3 has the packages onnx and numpy; asked:${asked:- none was found}"
exit 77
