package main

import (
	"context"
	"os"
	"path/filepath"
)

// wheels builds the wheels. Their own builder has all that is to say about them.
func (r *release) wheels(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if _, err := output(ctx, r.root, nil, python(), filepath.Join(r.root, "tools", "wheel", "wheel.py"),
		"--out", dir, "amd64", "arm64"); err != nil {
		return err
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil {
		return err
	}
	for _, file := range made {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := r.files.write(filepath.Base(file), b); err != nil {
			return err
		}
	}
	return nil
}

func python() string {
	if p := os.Getenv("PYTHON"); p != "" {
		return p
	}
	return "python3"
}
