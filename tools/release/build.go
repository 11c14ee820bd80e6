package main

import (
	"compress/gzip"
	"context"
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

// shellScripts returns the completions that the command prints, by shell.
func (r *release) shellScripts(ctx context.Context) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	file := filepath.Join(dir, "bivouac")
	if err := os.WriteFile(file, r.commands[runtime.GOOS+"/"+runtime.GOARCH], 0o755); err != nil {
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
