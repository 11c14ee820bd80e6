package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/errs"
)

// refusal is an odd or damaged checkpoint and what Orbax said of it: see
// tools/interop/refusals.py.
type refusal struct {
	How     string  `json:"how"`
	Path    string  `json:"path"`
	Refused *string `json:"refused"` // nil: Orbax loads it
}

// judge holds what integrity.Verify says of the checkpoint below dir against what Orbax
// said. It returns how they differ, "" when they agree.
//
// What Orbax refuses must be damaged, or be in Report.Orbax, or be no checkpoint here
// either. Of what Orbax loads nothing may be in Report.Orbax; it may be damaged, as Orbax
// notices less. A checkpoint that this build cannot read is not judged.
func (r refusal) judge(ctx context.Context, dir string) string {
	report, err := integrity.Verify(ctx, filepath.Join(dir, r.Path), nil)
	switch {
	case errs.KindOf(err) == errs.Unsupported:
		return ""
	case err != nil && r.Refused == nil && !isSession(err):
		return fmt.Sprintf("Orbax loads it, Bivouac cannot look at it: %v", err)
	case err != nil:
		return ""
	case r.Refused != nil && report.OK() && len(report.Orbax) == 0:
		return "Orbax refuses it, and Bivouac does not say so: " + *r.Refused
	case r.Refused == nil && len(report.Orbax) > 0:
		return fmt.Sprintf("Orbax loads it, and Bivouac says that it does not: %v", report.Orbax[0])
	}
	return ""
}

// isSession reports whether a checkpoint was refused because it has the name of an unfinished save:
// Orbax looks at the name of only some of them.
func isSession(err error) bool { return errs.KindOf(err) == errs.Invalid }

// compareRefusals judges every case below root.
func compareRefusals(ctx context.Context, root string, out io.Writer) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	refused, differences := 0, 0
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		b, err := os.ReadFile(filepath.Join(dir, "case.json"))
		if err != nil {
			return err
		}
		var r refusal
		if err := json.Unmarshal(b, &r); err != nil {
			return err
		}
		if r.Refused != nil {
			refused++
		}
		if d := r.judge(ctx, dir); d != "" {
			fmt.Fprintf(out, "DIFFERENT %s: %s: %s\n", dir, r.How, d)
			differences++
		}
	}
	fmt.Fprintf(out, "odd checkpoints: %d, of which Orbax refuses %d, %d differences\n", len(entries), refused,
		differences)
	switch {
	case differences > 0:
		return fmt.Errorf("%d differences", differences)
	case refused == 0 || refused == len(entries):
		return fmt.Errorf("of %d checkpoints Orbax refuses %d", len(entries), refused)
	}
	return nil
}
