// Command release makes the files that a release offers: static commands for Linux and macOS in
// archives, packages for Debian and for RPM, container images, wheels, an SBOM for each command,
// and the module as the proxy of Go would serve it, with the checksums of all.
//
// All times in the files are the time of the commit, and nothing of the machine enters them.
//
// A release is made from a clean tree whose commit has the tag of its version. Without -snapshot
// anything else is refused. A snapshot has the commit in its version, so nobody takes it for a
// release.
//
// With -install the command is also installed from the module as a stranger would do it, with
// `go install` and an empty module cache, and with dpkg where there is one.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	root := flag.String("root", "../..", "root of the repository")
	out := flag.String("out", "", "directory for the files, empty or of an earlier release (default ROOT/dist/release)")
	snapshot := flag.Bool("snapshot", false, "make the files of any commit, with the commit in the version")
	install := flag.Bool("install", false, "install the command from the module and from the package, and run both")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, *out, *snapshot, *install); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, out string, snapshot, install bool) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join(root, "dist", "release")
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	src, err := readSource(ctx, root, snapshot)
	if err != nil {
		return err
	}
	made, err := begin(out)
	if err != nil {
		return err
	}
	say("version %s, commit %s", src.version, src.commit)
	r := release{source: src, files: made}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"commands", r.build}, {"archives", r.archives}, {"SBOMs", r.boms}, {"packages", r.packages},
		{"images", r.images}, {"wheels", r.wheels}, {"module", r.module},
	} {
		say("%s", step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	if err := made.finish(); err != nil {
		return err
	}
	if install {
		if err := r.tryModule(ctx); err != nil {
			return fmt.Errorf("go install: %w", err)
		}
		if err := r.tryPackage(ctx); err != nil {
			return fmt.Errorf("package: %w", err)
		}
	}
	return nil
}

func say(format string, a ...any) { fmt.Printf("== release: "+format+"\n", a...) }

// A release holds what its steps share.
type release struct {
	source
	files *folder
	// commands holds the built commands by platform, such as linux/amd64.
	commands map[string][]byte
}
