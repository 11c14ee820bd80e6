package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const modulePath = "github.com/bivouac-ml/bivouac"

// A source is the commit that a release is made from.
type source struct {
	root    string
	commit  string
	version string // such as 1.2.0, 1.3.0-dev.0, or 1.3.0-dev.0.g0123456789ab for a snapshot
	time    time.Time
}

// readSource reads the version from the Python package, which is the one place that has it, and the
// commit from git.
func readSource(ctx context.Context, root string, snapshot bool) (source, error) {
	s := source{root: root}
	text, err := os.ReadFile(filepath.Join(root, "python", "bivouac", "__init__.py"))
	if err != nil {
		return s, err
	}
	found := regexp.MustCompile(`(?m)^__version__ = "(.*)"$`).FindSubmatch(text)
	if found == nil {
		return s, errors.New("python/bivouac/__init__.py: want a line __version__ = \"…\", found none")
	}
	if s.version, err = semantic(string(found[1])); err != nil {
		return s, err
	}
	head, err := s.git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return s, err
	}
	commit, seconds, _ := strings.Cut(head, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, fmt.Errorf("git log: want a commit and its time, got %q", head)
	}
	s.commit, s.time = commit, time.Unix(unix, 0).UTC()
	if snapshot {
		s.version = withCommit(s.version, commit)
		return s, nil
	}
	return s, s.checkReleased(ctx)
}

// checkReleased returns an error unless the commit has the tag of the version and nothing in the
// tree differs from it.
func (s source) checkReleased(ctx context.Context) error {
	changed, err := s.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		first, _, _ := strings.Cut(changed, "\n")
		return fmt.Errorf("the tree differs from commit %.12s: %s (commit or remove it, or use -snapshot)", s.commit, first)
	}
	tags, err := s.git(ctx, "tag", "--points-at", "HEAD")
	if err != nil {
		return err
	}
	want := "v" + s.version
	for tag := range strings.FieldsSeq(tags) {
		if tag == want {
			return nil
		}
	}
	return fmt.Errorf("commit %.12s: want the tag %s, which is the version in python/bivouac/__init__.py, got %q "+
		"(git tag %s, or use -snapshot)", s.commit, want, tags, want)
}

// semantic turns a version as PEP 440 writes it into a semantic version.
func semantic(pep string) (string, error) {
	parts := regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:(a|b|rc|\.dev)(\d+))?$`).FindStringSubmatch(pep)
	if parts == nil {
		return "", fmt.Errorf("python/bivouac/__init__.py: want a version such as 1.2.0, 1.2.0rc1 or 1.2.0.dev0, got %q", pep)
	}
	if parts[2] == "" {
		return parts[1], nil
	}
	words := map[string]string{"a": "alpha", "b": "beta", "rc": "rc", ".dev": "dev"}
	return parts[1] + "-" + words[parts[2]] + "." + parts[3], nil
}

// withCommit returns a version that comes before version if that is a release, and after it if it
// is a version before one. Names of images allow no "+", so the commit is not build metadata.
func withCommit(version, commit string) string {
	sep := "-"
	if strings.Contains(version, "-") {
		sep = "."
	}
	return fmt.Sprintf("%s%sg%.12s", version, sep, commit)
}

func (s source) git(ctx context.Context, args ...string) (string, error) {
	return output(ctx, s.root, nil, "git", args...)
}

// output runs a command and returns what it prints.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
