package dali

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// judgeFiles judges a case whose operator writes files in a folder of its own, and holds the
// files against those that DALI wrote.
func judgeFiles(ctx context.Context, c *dalivec.Case, judge func() dalivec.Verdict) dalivec.Verdict {
	if c.Files == nil {
		return judge()
	}
	dir, err := os.MkdirTemp(ctx.Value(suite.ScratchKey{}).(string), "files")
	var v dalivec.Verdict
	if err == nil {
		err = inFolder(dir, func() error {
			v = judge()
			return nil
		})
	}
	if err == nil && v.Status == dalivec.Passed {
		err = sameFiles(dir, c.Files)
	}
	if err != nil {
		return dalivec.Verdict{Status: dalivec.Failed, Reason: err.Error()}
	}
	return v
}

// sameFiles reports how the files of a folder differ from those that are wanted.
func sameFiles(dir string, want map[string]string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) != len(want) {
		return fmt.Errorf("%d files were written, want %d", len(entries), len(want))
	}
	for name, text := range want {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if string(b) != text {
			return fmt.Errorf("file %s: got %q, want %q", name, b, text)
		}
	}
	return nil
}
