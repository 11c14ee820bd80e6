package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/errs"
)

// examineBuild describes the running program.
func examineBuild() buildFacts {
	v := currentVersion()
	b := buildFacts{Version: v.Version, Go: v.Go, Platform: v.Platform, JPEG: v.JPEG,
		Advice: jpeg.Advice(), Schemes: schemes}
	b.Cgo = buildSetting("CGO_ENABLED") == "1"
	return b
}

// buildSetting returns what the Go tool recorded.
func buildSetting(key string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return ""
}

// builtTime returns when the source of this program was committed; zero if that was not recorded.
func builtTime() time.Time {
	at, _ := time.Parse(time.RFC3339, buildSetting("vcs.time"))
	return at
}

// answerTime is how long a program may take for its version.
const answerTime = 20 * time.Second

// mostAnswer bounds the output of such a program.
const mostAnswer = 64 << 10

// bounded keeps the beginning of what is written to it.
type bounded struct{ kept []byte }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), mostAnswer-len(b.kept))]...)
	return len(p), nil
}

// ask runs a program and returns its output.
func ask(ctx context.Context, program string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	var out, told bounded
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &told, time.Second
	err := cmd.Run()
	if err == nil {
		return string(out.kept), nil
	}
	if ctx.Err() != nil {
		return "", &errs.Error{Subject: program, Want: "an answer within " + answerTime.String(), Got: "none"}
	}
	lines := strings.Split(strings.TrimSpace(string(told.kept)), "\n")
	return "", &errs.Error{Subject: program, Got: lines[len(lines)-1], Err: err}
}

func examineFFmpeg(ctx context.Context) (f ffmpegFacts) {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return f
	}
	f.Found = true
	text, err := ask(ctx, path, "-version")
	if err != nil {
		f.Err = err
		return f
	}
	line, _, _ := strings.Cut(text, "\n")
	f.Version, _, _ = strings.Cut(line, " Copyright")
	_, err = exec.LookPath("ffprobe")
	f.Probe = err == nil
	return f
}

// clientQuestion is a program in Python that prints versions and imports nothing of the client:
// neither files of the working directory nor a package of another project with its name are run.
const clientQuestion = `
import sys
sys.path[:] = [p for p in sys.path if p]
import importlib.util, json, os, platform, re
client = ""
spec = importlib.util.find_spec("bivouac")
if spec and spec.origin:
    if os.path.exists(os.path.join(os.path.dirname(spec.origin), "_process.py")):
        with open(spec.origin, encoding="utf-8") as f:
            found = re.search(r'^__version__ = "([^"]+)"', f.read(1 << 20), re.M)
        client = found.group(1) if found else ""
print(json.dumps({"python": platform.python_version(), "client": client}))
`

func examinePython(ctx context.Context, program string) (p pythonFacts) {
	p.Program, p.Binary = program, os.Getenv("BIVOUAC_BINARY")
	if p.Binary != "" {
		if info, err := os.Stat(p.Binary); err != nil {
			p.BinaryErr = errors.New("no such file")
		} else if info.IsDir() || info.Mode()&0o111 == 0 {
			p.BinaryErr = errors.New("not a program")
		}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return p
	}
	p.Found = true
	text, err := ask(ctx, path, "-c", clientQuestion)
	if err != nil {
		p.Err = err
		return p
	}
	var answer struct{ Python, Client string }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		p.Err = &errs.Error{Subject: program, Want: "its version", Got: excerpt(text)}
		return p
	}
	p.Version, p.Client = answer.Python, answer.Client
	return p
}
