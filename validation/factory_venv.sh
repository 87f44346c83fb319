#!/usr/bin/env bash
# factory_venv.sh VENV: an environment with LLaMA-Factory that starts where there is no GPU.
# A finished one is left as it is.
#
# Why it is more than `pip install llamafactory`: that takes the newest torchvision, which takes the
# newest torch of CUDA; and LLaMA-Factory imports torchaudio, whose last release (2.11.0) refuses any
# torch but that of its own CUDA. So torch is named in the same breath, and with a torch of the CPU
# the compiled parts of the two, which need CUDA, are taken out: torchvision whole (nobody asks for
# it), of torchaudio the libraries (it then imports as one that was built without them).
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 VENV" >&2; exit 2; }
python="$1/bin/python"
if [ ! -e "$1/ready" ]; then
  python3 -m venv "$1"
  "$python" -m pip install -qq torch==2.13.0 llamafactory==0.9.5
  if "$python" -c 'import sys, torch; sys.exit(torch.version.cuda is not None)'; then
    "$python" -m pip uninstall -qq -y torchvision
    rm -f "$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"/torchaudio/lib/*.so
  fi
  touch "$1/ready"
fi
