package integrity

import (
	"context"
	"crypto/ed25519"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// VerifyOptions modify Verify; nil is the zero value.
type VerifyOptions struct {
	// Key, when not nil, must have signed the checkpoint. Without a signature by Key the report has a
	// problem.
	Key ed25519.PublicKey
	// Label, when not "", is the label under which Key must have signed; see checkpoint.LoadOptions.
	Label string
	// Store holds the checkpoint; nil is the local file system.
	Store store.Store
	// Progress, when not nil, receives how many bytes of how many were checked, one call at a time and
	// from other goroutines.
	Progress func(done, total int64)
}

// Report is what Verify found.
type Report struct {
	Path     string
	Manifest bool  // a bivouac.manifest covers every byte
	Files    int   // of the checkpoint
	Leaves   int   // arrays read and checked
	Bytes    int64 // of all files
	// Coverage says in words which damage would have been noticed.
	Coverage string
	// Parts are the leaves and documents, and how much of each is covered.
	Parts []Coverage
	// Problems are damages, each an errs.Corrupt that names file or leaf.
	Problems []error
	// Orbax lists why Orbax 0.12.8 would refuse to load, without further arguments, what Bivouac can
	// load: errs.Unsupported for a layout that Orbax does not have, else errs.Mismatch. It does not
	// judge what depends on the devices of the loading machine.
	Orbax []error

	// Mendable: Repair can mend all of the damage, because the checkpoint was saved with
	// Options.Parity.
	Mendable bool

	strangers int   // files that the manifest does not list
	unread    error // why an undamaged leaf could not be checked
}

// OK reports whether no damage was found; Verdict says whether damage would have been found.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Verify reads a whole checkpoint and compares every byte with what covers it: with the manifest
// for every file, array and chunk of our checkpoints, and with what the format checks in others
// (B+tree nodes, shard indices, compressed frames). It goes on after a problem. A tree without its
// document _METADATA is damaged. The error says what kept Verify from looking: a leaf of a type
// that this build cannot read is reported at the end, after all other leaves. Verify takes some 32
// MiB of memory for arrays of any size, or the size of the largest chunk that can only be decoded
// as a whole; such chunks are read one at a time.
func Verify(ctx context.Context, path string, o *VerifyOptions) (*Report, error) {
	const op = "integrity.Verify"
	if o == nil {
		o = &VerifyOptions{}
	}
	ctx, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Verify, Path: path, Step: telemetry.NoStep})
	r, err := whole(ctx, path, o)
	if told != nil {
		told.End(r.outcome(err))
	}
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	return r, errs.Wrap(op, path, r.unread)
}

// outcome returns what telemetry is told: damage that was found is an error too.
func (r *Report) outcome(err error) telemetry.Outcome {
	if err != nil {
		return telemetry.Outcome{Err: err}
	}
	if err = r.unread; len(r.Problems) > 0 {
		err = r.Problems[0]
	}
	return telemetry.Outcome{Err: err, Bytes: r.Bytes, Files: r.Files}
}

// whole is Verify without what it tells.
func whole(ctx context.Context, path string, o *VerifyOptions) (r *Report, err error) {
	look := func(c *layout.Checkpoint) (err error) {
		if r, err = verify(ctx, path, c, o); err == nil && !r.OK() {
			err = c.Explain(ctx, errDamaged)
		}
		return err
	}
	err = reading(ctx, path, o, look)
	switch {
	case err == errDamaged:
		err = r.mendable(ctx, o)
	case errs.KindOf(err) == errs.Corrupt || layout.IsUnreadable(err):
		r = &Report{Path: path, Problems: []error{asDamage(err)}, Coverage: "the checkpoint cannot be opened"}
		err = r.unopened(ctx, o)
	}
	return r, err
}

// reading calls look with the checkpoint at path, open. A caller that asks for no signature may
// have opened it.
func reading(ctx context.Context, path string, o *VerifyOptions, look func(*layout.Checkpoint) error) error {
	if c := layout.Opened(ctx, path, o.Store); c != nil && o.Key == nil {
		return c.Explain(ctx, look(c))
	}
	how, st, name, err := plan.OpenSigned(ctx, path, o.Key, o.Label, o.Store)
	if how.Once = true; err != nil {
		return err
	}
	return how.Read(ctx, st, name, look)
}

// unopened checks the files of a checkpoint that cannot be opened, if its manifest or a copy of it
// lists them.
func (r *Report) unopened(ctx context.Context, o *VerifyOptions) error {
	st, name, err := locate.Checkpoint(r.Path, o.Store)
	if err != nil {
		return err
	}
	x, beyond, err := examine(ctx, st, name, true, o.Progress)
	if beyond != nil && errs.KindOf(beyond) != errs.NotFound {
		r.Problems = append(r.Problems, errs.Wrap("integrity.Verify", manifest.Name, beyond))
	}
	if err != nil || x == nil {
		return err
	}
	there, err := parts.Files(ctx, st, name, nil)
	if err != nil {
		return asError(err)
	}
	r.Coverage = "the checkpoint cannot be opened; every byte of every file"
	if x.why != nil {
		r.Coverage += ", by the copy of the manifest"
	}
	r.Files = len(there)
	for _, f := range there {
		if _, listed := x.manifest.File(f); !listed && f != manifest.Name {
			r.Problems = append(r.Problems, stranger(f))
			r.strangers++
		}
	}
	told := r.Problems[0].Error()
	for _, f := range x.manifest.Files {
		r.Bytes += f.Size
	}
	for _, b := range x.Bad {
		if err := errs.Wrap("integrity.Verify", b.File.Name, asDamage(b.Why)); !strings.Contains(told, b.File.Name) {
			r.Problems = append(r.Problems, err)
		}
	}
	r.Mendable = r.strangers == 0 && x.Mendable()
	return nil
}

// asError returns err unless it is damage, which the report lists.
func asError(err error) error {
	if layout.IsDamage(err) || layout.IsUnreadable(err) {
		return nil
	}
	return err
}

func stranger(name string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "integrity.Verify", Subject: name,
		Got: "a file that the manifest does not list", Remedy: "remove it if it does not belong there"}
}

// mendable determines whether the damage can be mended. Files that the manifest does not list
// cannot.
func (r *Report) mendable(ctx context.Context, o *VerifyOptions) error {
	if r.strangers > 0 {
		return nil
	}
	st, name, err := locate.Checkpoint(r.Path, o.Store)
	if err != nil {
		return err
	}
	x, _, err := examine(ctx, st, name, false, nil)
	if err == nil && x != nil {
		r.Mendable = x.Mendable()
	}
	return err
}

// errDamaged stands for the problems of a report.
var errDamaged = errors.New("damaged")

// verify implements Verify for an open checkpoint.
func verify(ctx context.Context, path string, c *layout.Checkpoint, o *VerifyOptions) (*Report, error) {
	r := &Report{Path: path}
	v := &verifier{r: r, c: c, o: o}
	r.Manifest = c.Manifest != nil
	r.Coverage = coverage(c.Layout)
	there, err := v.list(ctx)
	if err != nil {
		return nil, err
	}
	if r.Manifest {
		r.Coverage = "every byte of every file, and each chunk's place"
		if o.Key != nil {
			r.Coverage += "; signed with the key"
		}
		v.sizes()
	}
	err = v.content(ctx, there)
	if r.Manifest && errs.KindOf(err) != errs.Canceled {
		// The files are compared last, because most of their bytes were read with the content. Their
		// problems come first.
		inside := r.Problems
		r.Problems = nil
		if err := v.files(ctx, there); err != nil {
			return nil, err
		}
		r.Problems = append(r.Problems, inside...)
	}
	if err != nil {
		return nil, err
	}
	if !r.Manifest {
		v.documents(there)
	}
	return r, nil
}

// list lists the files of the checkpoint.
func (v *verifier) list(ctx context.Context) ([]store.Info, error) {
	there, err := v.c.Own(ctx)
	if err != nil {
		return nil, err
	}
	v.r.Files = len(there)
	for _, f := range there {
		v.r.Bytes += f.Size
	}
	return there, nil
}

// coverage describes what is covered without a manifest.
func coverage(of string) string {
	switch of {
	case "safetensors":
		return "what the format checks: the header; array bytes are not covered"
	case "numpy":
		return "what the format checks: each array of a .npz file by a CRC-32, the array of a .npy file not at all"
	case "pt", "pt ranks":
		return "what the format checks: each storage of tensors by a CRC-32, unless its writer left that out"
	case "dcp":
		return "what the format checks: each chunk of a tensor by a CRC-32, unless its writer left that out; " +
			".metadata is not covered"
	}
	return "what the format checks: tree nodes, shard indices, compressed frames; uncompressed array bytes are not covered"
}

type verifier struct {
	r     *Report
	c     *layout.Checkpoint
	o     *VerifyOptions
	total int64 // bytes to check
	done  int64 // bytes checked so far

	items map[string]bool // the items that are trees
}

// asDamage returns an error about unreadable or missing bytes as errs.Corrupt, and other errors
// unchanged.
func asDamage(err error) error {
	if err == nil || errs.KindOf(err) == errs.Corrupt || !layout.IsDamage(err) && !layout.IsUnreadable(err) {
		return err
	}
	e := &errs.Error{Kind: errs.Corrupt, Err: err}
	if layout.IsUnreadable(err) {
		e.Got, e.Remedy = "bytes that the disk does not give back",
			"look at the disk, and load another step; bivouac repair mends files of a checkpoint with parity"
	}
	return e
}

// found records damage and returns any other error.
func (v *verifier) found(err error) error {
	if layout.IsUnreadable(err) {
		err = asDamage(err)
	}
	if layout.IsDamage(err) {
		v.r.Problems = append(v.r.Problems, err)
		return nil
	}
	return err
}

// progress tells that n more bytes of elements were checked. With a manifest the bytes of files
// count instead.
func (v *verifier) progress(n int64) {
	if v.r.Manifest {
		n = max(0, min(v.c.BytesRead(), v.total)-v.done)
	}
	v.tell(v.done + n)
}

func (v *verifier) tell(done int64) {
	v.done = done
	if v.o.Progress != nil {
		v.o.Progress(v.done, max(v.total, v.done))
	}
}

// files compares every file with the manifest, and the list of the manifest with the directory.
func (v *verifier) files(ctx context.Context, there []store.Info) error {
	for _, f := range there {
		if _, listed := v.c.Manifest.File(f.Name); !listed && f.Name != manifest.Name {
			v.r.Problems = append(v.r.Problems, stranger(f.Name))
			v.r.strangers++
		}
	}
	exists := func(name string) bool {
		_, ok := slices.BinarySearchFunc(there, name, func(f store.Info, name string) int {
			return strings.Compare(f.Name, name)
		})
		return ok
	}
	present := make([]manifest.File, 0, len(there))
	for _, f := range v.c.Manifest.Files {
		if exists(f.Name) {
			present = append(present, f)
		}
	}
	compared := v.c.CompareFiles(ctx, present, v.progress)
	for _, f := range v.c.Manifest.Files {
		err := error(&errs.Error{Kind: errs.Corrupt, Op: "integrity.Verify", Subject: f.Name, Got: "the file is missing"})
		if exists(f.Name) {
			err, compared = compared[0], compared[1:]
		}
		if err := v.found(err); err != nil {
			return err
		}
	}
	v.tell(v.total)
	return nil
}

// sizes adds up the bytes of the files in the manifest, which are to be read.
func (v *verifier) sizes() {
	for _, f := range v.c.Manifest.Files {
		v.total += f.Size
	}
}

// content reads every array and document.
func (v *verifier) content(ctx context.Context, there []store.Info) error {
	items, err := v.c.Items(ctx)
	if err != nil {
		return v.found(err)
	}
	v.items = map[string]bool{}
	for _, it := range items {
		if it.Kind == layout.Tree {
			v.items[it.Name] = true
		} else if err := v.found(v.lostTree(it, there)); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.c.Meta.Handlers)) {
		if !v.c.Has(name) {
			v.r.Problems = append(v.r.Problems, &errs.Error{Kind: errs.Corrupt, Op: "integrity.Verify",
				Subject: "item " + strconv.Quote(name), Got: "the item is missing"})
		}
	}
	if !v.items[""] && strings.HasPrefix(v.c.Layout, "orbax") {
		if err := v.found(lostRoot(there)); err != nil {
			return err
		}
	}
	if v.c.Manifest != nil {
		for _, f := range v.c.Manifest.Files {
			v.ours(f)
		}
	}
	if err := v.forOrbax(ctx, items); err != nil {
		return err
	}
	for _, it := range items {
		switch it.Kind {
		case layout.Tree:
			err = v.tree(ctx, it.Name)
		case layout.JSON:
			_, err = v.c.JSON(ctx, it.Name)
		case layout.Proto:
			_, err = v.c.Proto(ctx, it.Name)
		}
		if err := v.found(err); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) tree(ctx context.Context, item string) error {
	t, err := v.c.Describe(ctx, item)
	if err != nil {
		return err
	}
	defer t.Close() //nolint:errcheck // nothing was written
	if err := v.treeForOrbax(ctx, item, t); err != nil {
		return err
	}
	if v.c.Manifest == nil { // a manifest would give the total
		for i := range t.Leaves {
			v.total += int64(t.Leaves[i].Bytes())
		}
	}
	parts, looked := make([]Coverage, len(t.Leaves)), make([]bool, len(t.Leaves))
	c := &layout.Checker{Progress: v.progress}
	part := func(i int) *Coverage {
		if !looked[i] {
			l := &t.Leaves[i]
			looked[i], parts[i] = true, Coverage{Item: item, Path: l.Param, Bytes: int64(l.Bytes()), Covered: int64(l.Bytes())}
		}
		return &parts[i]
	}
	c.Verdict = func(i int, err error) error {
		v.r.Leaves++
		l := &t.Leaves[i]
		if layout.IsUnreadable(err) {
			err = errs.Wrap("", "array "+strconv.Quote(l.Param), asDamage(err))
		}
		part(i).Err = err
		if err != nil && !layout.IsDamage(err) {
			return v.cannot(err)
		}
		return nil
	}
	if v.c.Manifest == nil {
		c.Covered = func(i int, stored, covered int64) { p := part(i); p.Bytes, p.Covered = stored, covered }
	}
	err = t.Check(ctx, c)
	found := parts[:0] // reuses the memory of parts: an element is read before it is overwritten
	for i := range t.Leaves {
		l := &t.Leaves[i]
		if l.Err != nil && err == nil {
			why := l.Err
			if layout.IsUnreadable(why) {
				why = asDamage(why)
			}
			p := part(i)
			if p.Err = why; !strings.Contains(why.Error(), l.Param) {
				p.Err = errs.Wrap("", "array "+strconv.Quote(l.Param), why)
			}
			if !layout.IsDamage(why) {
				err = v.cannot(p.Err)
			}
		}
		if p := &parts[i]; looked[i] {
			found = append(found, *p)
			if layout.IsDamage(p.Err) {
				v.r.Problems = append(v.r.Problems, p.Err)
			}
		}
	}
	if v.r.Parts == nil && len(found) > 0 {
		v.r.Parts = found
	} else {
		v.r.Parts = append(v.r.Parts, found...)
	}
	return err
}

// cannot records why this build cannot check a leaf, and returns errors that stop the check.
func (v *verifier) cannot(err error) error {
	if errs.KindOf(err) != errs.Unsupported {
		return err
	}
	if v.r.unread == nil {
		v.r.unread = err
	}
	return nil
}
