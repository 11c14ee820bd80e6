package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// vectorCases has one case for each entry of "vectors" in the files of a folder; a
// file is a family. An entry is core where it, or its file, says so. A file that
// families lack is a failure.
func vectorCases(dir, maker string, families map[string]func(r *report, o *object)) ([]testCase, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var cases []testCase
	for _, file := range files {
		r := &report{}
		top, err := expectation(r, file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if top.str(maker) == "" {
			r.fail("no version of %s", maker)
		}
		if !top.has("vectors") { // a layout of its own
			continue
		}
		family := strings.TrimSuffix(filepath.Base(file), ".json")
		compare, known := families[family]
		if !known {
			r.fail("unknown layout %q", family)
		}
		whole := top.boolean("core")
		top.has("numpy") // a version
		entries := top.list("vectors")
		top.done()
		for _, f := range r.failures {
			cases = append(cases, failing(family, f))
		}
		for i, entry := range entries {
			e, _ := entry.(map[string]any)
			flag, _ := e["core"].(bool)
			cases = append(cases, testCase{
				name: fmt.Sprintf("%s/%03d", family, i), family: family, path: filepath.Base(file), core: whole || flag,
				run: func(_ context.Context, r *report) {
					o := newObject(r, "", entry)
					if known {
						compare(r, o)
					}
					if r.skip == "" {
						o.done()
					}
				},
			})
		}
	}
	return cases, nil
}

// absent tells that a file is not there, as in an excerpt.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, os.ErrNotExist) }
