package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// module writes the module as a proxy of Go would serve it for this commit. Files that differ from
// the commit are not in it.
func (r *release) module(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	tree, file := filepath.Join(dir, "tree"), filepath.Join(dir, "tree.tar")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return err
	}
	if _, err := r.git(ctx, "archive", "--output", file, r.commit); err != nil {
		return err
	}
	if _, err := output(ctx, dir, nil, "tar", "-xf", file, "-C", tree); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := zip.CreateFromDir(&b, module.Version{Path: modulePath, Version: "v" + r.version}, tree); err != nil {
		return err
	}
	return r.files.write(r.moduleZip(), b.Bytes())
}

func (r *release) moduleZip() string { return "bivouac-" + r.version + "-module.zip" }

// tryModule installs the command with `go install` from the module alone, with an empty module
// cache, and runs it. The modules that it needs come from where the caller's settings say.
func (r *release) tryModule(ctx context.Context) error {
	say("go install %s/cmd/bivouac@v%s, from the module, with an empty module cache", modulePath, r.version)
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	versions := filepath.Join(dir, "proxy", modulePath, "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": "v" + r.version, "Time": r.time.Format(time.RFC3339)})
	if err != nil {
		return err
	}
	mod, err := r.git(ctx, "show", r.commit+":go.mod")
	if err != nil {
		return err
	}
	packed, err := os.ReadFile(filepath.Join(r.files.dir, r.moduleZip()))
	if err != nil {
		return err
	}
	base := filepath.Join(versions, "v"+r.version)
	for file, text := range map[string][]byte{filepath.Join(versions, "list"): []byte("v" + r.version + "\n"),
		base + ".info": info, base + ".mod": []byte(mod + "\n"), base + ".zip": packed} {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	proxy, err := output(ctx, dir, nil, "go", "env", "GOPROXY")
	if err != nil {
		return err
	}
	env := []string{
		"GOPROXY=file://" + filepath.Join(dir, "proxy") + "," + proxy, "GONOSUMDB=" + modulePath, "GOBIN=" + filepath.Join(dir, "bin"),
		"GOMODCACHE=" + filepath.Join(dir, "modules"), "GOFLAGS=-modcacherw", "GOWORK=off", "CGO_ENABLED=0",
	}
	if _, err := output(ctx, dir, env, "go", "install", modulePath+"/cmd/bivouac@v"+r.version); err != nil {
		return err
	}
	return r.tryCommand(ctx, filepath.Join(dir, "bin", "bivouac"))
}

// tryCommand asks an installed command for its version.
func (r *release) tryCommand(ctx context.Context, file string) error {
	text, err := output(ctx, filepath.Dir(file), nil, file, "version")
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(text, "\n")
	if want := "bivouac v" + r.version + " "; !strings.HasPrefix(first, want) {
		return fmt.Errorf("version: want %q at the beginning, got %q", want, first)
	}
	say("it runs: %s", first)
	return nil
}

// tryPackage unpacks the package of this machine where there is dpkg, and runs the command in it.
func (r *release) tryPackage(ctx context.Context) error {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		say("skipped the package for Debian: there is no dpkg-deb here")
		return nil
	}
	arch, err := output(ctx, r.root, nil, "go", "env", "GOARCH")
	if err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(r.files.dir, "*_"+arch+".deb"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%s: want one package for %s, got %d (%v)", r.files.dir, arch, len(found), err)
	}
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if _, err := output(ctx, dir, nil, "dpkg-deb", "--extract", found[0], dir); err != nil {
		return err
	}
	say("%s unpacks", filepath.Base(found[0]))
	return r.tryCommand(ctx, filepath.Join(dir, "usr", "bin", "bivouac"))
}
