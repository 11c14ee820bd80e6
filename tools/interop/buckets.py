"""buckets.py DIR BIVOUAC SERVER: checkpoints go through a bucket, both ways.

DIR/ours has what Bivouac wrote, and DIR/untouched what the libraries wrote. BIVOUAC is the command,
SERVER is tools/versitygw. The bucket is a directory here, as where a system mounts it.

DIR/copied     what Bivouac wrote, copied into the bucket and out of it again
DIR/mounted    the same, as the objects lie in the bucket; read with commit_success.txt
DIR/fetched    what the libraries wrote, objects of the bucket that Bivouac copied out
"""

import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import time

KEYS = {"AWS_ACCESS_KEY_ID": "interop", "AWS_SECRET_ACCESS_KEY": "no-secret", "AWS_REGION": "us-east-1"}

MOST = 2000  # files of a checkpoint; some have a file for each few numbers


class Bucket:
    """A server with one bucket. It ends with this program."""

    def __init__(self, program, root):
        self.root = os.path.join(root, "server", "interop")
        notes = os.path.join(root, "notes")
        os.makedirs(self.root)
        os.makedirs(notes)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        env = os.environ | {"ROOT_ACCESS_KEY_ID": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_ACCESS_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
        args = [program, "-dir", os.path.dirname(self.root), "-side", notes, "-addr", address]
        self.log = open(os.path.join(root, "server.log"), "w+")
        self.process = subprocess.Popen(args, env=env, stdin=subprocess.PIPE, stdout=self.log, stderr=self.log)
        self.endpoint = "http://" + address
        end = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), 1).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    self.log.seek(0)
                    sys.exit("buckets: the server does not listen: " + self.log.read()[-800:])
                time.sleep(0.05)

    def url(self, name):
        return f"s3://interop/{name}?endpoint={self.endpoint}"

    def objects(self, name):
        """The directory with the objects of a checkpoint that Bivouac committed."""
        base, last = os.path.split(name)
        (found,) = glob.glob(os.path.join(self.root, base, ".bivouac.objects", "data", glob.escape(last) + ".*", "objects"))
        return found

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def cases(root):
    for folder in sorted(os.listdir(root)):
        with open(os.path.join(root, folder, "case.json"), encoding="utf-8") as f:
            yield folder, json.load(f)


def describe(root, folder, target):
    os.makedirs(os.path.join(target, folder), exist_ok=True)
    shutil.copy(os.path.join(root, folder, "case.json"), os.path.join(target, folder, "case.json"))


def through(root, command, server):
    """Copy all checkpoints. Return how many went each way, and how many were left out."""
    bucket = Bucket(server, os.path.join(root, "bucket"))
    ours, theirs = os.path.join(root, "ours"), os.path.join(root, "untouched")
    copied, mounted, fetched = (os.path.join(root, n) for n in ("copied", "mounted", "fetched"))

    def cp(source, target):
        done = subprocess.run([command, "cp", source, target], env=os.environ | KEYS, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"buckets: cp {source} {target}: {done.stderr}")

    counts = [0, 0, 0, 0]
    for folder, case in cases(ours):
        name = os.path.join("ours", folder, case["path"])
        cp(os.path.join(root, name), bucket.url(name))
        cp(bucket.url(name), os.path.join(copied, folder, case["path"]))
        describe(ours, folder, copied)
        counts[0] += 1
        if case["kind"] != "run":  # the steps of a run lie below the run's own keys
            describe(ours, folder, mounted)
            shutil.copytree(bucket.objects(name), os.path.join(mounted, folder, case["path"]))
            counts[1] += 1
    for folder, case in cases(theirs):
        name = os.path.join("untouched", folder, case["path"])
        if not is_checkpoint(os.path.join(root, name)):
            continue
        if sum(len(files) for _, _, files in os.walk(os.path.join(root, name))) > MOST:
            counts[3] += 1
            continue
        shutil.copytree(os.path.join(root, name), os.path.join(bucket.root, name))
        cp(bucket.url(name), os.path.join(fetched, folder, case["path"]))
        describe(theirs, folder, fetched)
        counts[2] += 1
    bucket.close()
    return counts


def is_checkpoint(path):
    """Whether it is a checkpoint or a run: bivouac cp copies nothing else."""
    return any(glob.glob(os.path.join(path, *up, "_CHECKPOINT_METADATA")) for up in ((), ("*",)))


def main(root, command, server):
    root, command, server = map(os.path.abspath, (root, command, server))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    print("through a bucket: %d copied out again, %d as they lie there, %d of other libraries, %d of more than 2000 files left out" % tuple(through(root, command, server)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
