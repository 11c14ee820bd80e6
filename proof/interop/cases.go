package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// compareCases reads the case.json in each directory below root and tells what differs in it.
// title says what Bivouac does, noun what the cases are.
func compareCases[C any](root string, out io.Writer, title, noun string, differs func(*C) string) error {
	dirs, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	failed := 0
	for _, d := range dirs {
		b, err := os.ReadFile(filepath.Join(root, d.Name(), truthFile))
		if err != nil {
			return err
		}
		c := new(C)
		if err := json.Unmarshal(b, c); err != nil {
			return err
		}
		if told := differs(c); told != "" {
			failed++
			fmt.Fprintf(out, "DIFFERENCE %s: %s\n", filepath.Join(root, d.Name()), told)
		}
	}
	fmt.Fprintf(out, "%s: %d %s, %d differences\n", title, len(dirs), noun, failed)
	if failed > 0 || len(dirs) == 0 {
		return fmt.Errorf("%d of %d %s differ", failed, len(dirs), noun)
	}
	return nil
}

func caseName(i int) string { return fmt.Sprintf("%03d", i) }

// writeCase writes case i below root.
func writeCase(root string, i int, c any) error {
	dir := filepath.Join(root, caseName(i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, truthFile), b, 0o644)
}
