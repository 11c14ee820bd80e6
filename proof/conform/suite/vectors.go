package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// VectorCases has one case for each entry of "vectors" in the files of a folder; a
// file is a family. An entry is core where it, or its file, says so. A file that
// families lack is a failure.
func VectorCases(dir, maker string, families map[string]func(r *Report, o *Object)) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, file := range files {
		r := &Report{}
		top, err := Expectation(r, file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if top.Str(maker) == "" {
			r.Fail("no version of %s", maker)
		}
		if !top.Has("vectors") { // a layout of its own
			continue
		}
		family := strings.TrimSuffix(filepath.Base(file), ".json")
		compare, known := families[family]
		if !known {
			r.Fail("unknown layout %q", family)
		}
		whole := top.Boolean("core")
		top.Has("numpy") // a version
		entries := top.List("vectors")
		top.Done()
		for _, f := range r.Failures {
			cases = append(cases, Failing(family, f))
		}
		for i, entry := range entries {
			e, _ := entry.(map[string]any)
			flag, _ := e["core"].(bool)
			cases = append(cases, Case{
				Name: fmt.Sprintf("%s/%03d", family, i), Family: family, Path: filepath.Base(file), Core: whole || flag,
				Run: func(_ context.Context, r *Report) {
					o := NewObject(r, "", entry)
					if known {
						compare(r, o)
					}
					if r.Skip == "" {
						o.Done()
					}
				},
			})
		}
	}
	return cases, nil
}

// Absent tells that a file is not there, as in an excerpt.
func Absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, os.ErrNotExist) }
