package orbax

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// comparePartial compares a checkpoint that was saved in parts, and the session
// directory as it was before the parts were put together, which is no checkpoint.
func comparePartial(ctx context.Context, r *suite.Report, o *suite.Object, folder string) {
	if s := o.Str("finalize"); s != "ok" {
		r.Fail("finalize: %s", s)
	}
	compareCheckpoint(ctx, r, o, filepath.Join(folder, "checkpoint"))

	comparePending(ctx, r, o, folder)
	compareParts(r, o)
	replayParts(ctx, r, o, filepath.Join(folder, "checkpoint"))
}

// compareFailedFinalize compares what our Finalize makes of a session that Orbax fails to finalize,
// before and after Orbax failed.
func compareFailedFinalize(ctx context.Context, r *suite.Report, o *suite.Object, folder string) {
	if o.Str("layout") != "orbax_v1_partial" || o.Str("finalize") == "ok" || !o.Boolean("expected_of_a_correct_finalize") {
		r.Fail("want a session that Orbax could not finalize")
	}
	comparePending(ctx, r, o, folder)
	failed := o.Child("failed")
	dir := filepath.Join(folder, failed.Str("directory"))
	failed.Done()
	if _, err := checkpoint.LoadCheckpointables(ctx, dir, nil); err == nil {
		r.Fail("failed: loaded")
	}
	compareFinalized(ctx, r, o, dir)
	compareParts(r, o)
	o.Done()
}

// compareFinalized finalizes a copy of a session and compares the checkpoint.
func compareFinalized(ctx context.Context, r *suite.Report, o *suite.Object, session string) {
	tmp, err := os.MkdirTemp("", "conform")
	if err != nil {
		r.Fail("%v", err)
		return
	}
	defer os.RemoveAll(tmp)
	if err := os.CopyFS(filepath.Join(tmp, filepath.Base(session)), os.DirFS(session)); err != nil {
		r.Fail("%v", err)
		return
	}
	at := filepath.Join(tmp, strings.TrimSuffix(filepath.Base(session), ".partial_save"))
	if err := partial.Finalize(ctx, at, nil); err != nil {
		r.Fail("Finalize %s: %v", filepath.Base(session), err)
		return
	}
	compareCheckpoint(ctx, r, o, at)
	if _, err := os.Stat(filepath.Join(tmp, filepath.Base(session))); err == nil {
		r.Fail("Finalize %s: the session is still there", filepath.Base(session))
	}
	if o.Str("finalize") != "ok" { // there is no other checkpoint to take the leaves from
		replayParts(ctx, r, o, at)
	}
}

// comparePending holds the session against what is said of it, and what Finalize
// makes of it against the items.
func comparePending(ctx context.Context, r *suite.Report, o *suite.Object, folder string) {
	p := o.Child("pending")
	dir := filepath.Join(folder, p.Str("directory"))
	pattern := regexp.QuoteMeta(p.Str("entries_pattern"))
	pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, "<ns>", "[0-9]+"), "<32 hex>", "[0-9a-f]{32}")
	entries, err := os.ReadDir(dir)
	if want := p.Integer("count"); err != nil || int64(len(entries)) != want {
		r.Fail("pending.count: got %d, want %d (%v)", len(entries), want, err)
	}
	for _, e := range entries {
		if !regexp.MustCompile("^" + pattern + "$").MatchString(e.Name()) {
			r.Fail("pending: %q does not match %q", e.Name(), p.Str("entries_pattern"))
		}
	}
	if _, err := checkpoint.LoadCheckpointables(ctx, dir, nil); err == nil {
		r.Fail("pending: loaded")
	}
	p.Has("load_target_error") // the final path did not exist then
	p.Done()
	compareFinalized(ctx, r, o, dir)
}

// compareParts holds the key paths of the parts against the leaves: every leaf
// stems from one part.
func compareParts(r *suite.Report, o *suite.Object) {
	var parts [][][]string
	if err := json.Unmarshal(o.Raw("parts"), &parts); err != nil {
		r.Fail("parts: %v", err)
		return
	}
	var got, want []string
	for _, part := range parts {
		for _, path := range part {
			got = append(got, strings.Join(path, "/"))
		}
	}
	for _, it := range o.Child("items").Members {
		for _, l := range suite.NewObject(r, "", it).List("leaves") {
			want = append(want, strings.Join(suite.NewObject(r, "", l).Strings("keypath"), "/"))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.Fail("parts: hold %q, the items %q", got, want)
	}
}
