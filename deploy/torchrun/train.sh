#!/usr/bin/env bash
# Usage: train.sh FIRST_MACHINE
# Run it on each of two machines: torchrun starts two processes on each, gives them their ranks, and
# starts all of them again if one dies.
set -euo pipefail
run=${RUN:-s3://bucket/runs/7}
exec torchrun --nnodes=2 --nproc-per-node=2 --max-restarts=100 --rdzv-backend=c10d \
	--rdzv-endpoint="$1:29500" --rdzv-id=train-7 --no-python \
	./cluster -run "$run" -coordinator "$run.cluster" -steps 2000 -deadline 2m
