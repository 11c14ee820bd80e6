package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// platforms are those that a release has commands for. The command is also in packages and images
// where the system is Linux.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// build builds the static command for each platform. The caller's settings of Go do not change it.
func (r *release) build(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	r.commands = map[string][]byte{}
	for _, p := range platforms {
		goos, arch, _ := strings.Cut(p, "/")
		file := filepath.Join(dir, "bivouac")
		env := []string{
			"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=",
			"GOFIPS140=off", "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false",
		}
		if _, err := output(ctx, r.root, env, "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=v"+r.version,
			"-o", file, "./cmd/bivouac"); err != nil {
			return err
		}
		if r.commands[p], err = os.ReadFile(file); err != nil {
			return err
		}
	}
	return nil
}

// A document is a file that goes with the command.
type document struct {
	name string
	text []byte
}

// documents returns what each archive, package and image has beside the command.
func (r *release) documents() ([]document, error) {
	var out []document
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		b, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		out = append(out, document{name, b})
	}
	linked, err := r.licences()
	return append(out, document{"LICENSES-LINKED", linked}), err
}

// licences returns the licences of all that the command links.
func (r *release) licences() ([]byte, error) {
	f, err := os.Open(filepath.Join(r.root, "cmd", "bivouac", "licences.txt.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// completions are the scripts for shells, by their path below /usr/share.
var completions = map[string]string{
	"bash": "bash-completion/completions/bivouac",
	"zsh":  "zsh/vendor-completions/_bivouac",
	"fish": "fish/vendor_completions.d/bivouac.fish",
}

// ownCommand writes the command of this machine to a temporary directory, which the caller removes.
func (r *release) ownCommand() (dir, file string, err error) {
	if dir, err = os.MkdirTemp("", "release"); err != nil {
		return "", "", err
	}
	file = filepath.Join(dir, "bivouac")
	return dir, file, os.WriteFile(file, r.commands[runtime.GOOS+"/"+runtime.GOARCH], 0o755)
}

// manPages returns the manual pages that the command writes, compressed as Debian wants them, by
// their names.
func (r *release) manPages(ctx context.Context) (map[string][]byte, error) {
	dir, file, err := r.ownCommand()
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if err != nil {
		return nil, err
	}
	pages := filepath.Join(dir, "man1")
	if _, err := output(ctx, dir, nil, file, "man", pages); err != nil {
		return nil, err
	}
	list, err := filepath.Glob(filepath.Join(pages, "*.1"))
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("want manual pages, got %d: %v", len(list), err)
	}
	out := map[string][]byte{}
	for _, name := range list {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := z.Write(text); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		out[filepath.Base(name)+".gz"] = b.Bytes()
	}
	return out, nil
}

// shellScripts returns the completions that the command prints, by shell.
func (r *release) shellScripts(ctx context.Context) (map[string][]byte, error) {
	dir, file, err := r.ownCommand()
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for shell := range completions {
		text, err := output(ctx, dir, nil, file, "completion", shell)
		if err != nil {
			return nil, err
		}
		out[shell] = []byte(text + "\n")
	}
	return out, nil
}
