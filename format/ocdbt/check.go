package ocdbt

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// CheckOptions tune Check.
type CheckOptions struct {
	Options           // except Generation and Time
	Names    []string // of all files below the directory; nil: orphans are not looked for
	MaxFound int      // problems after which to stop; 0: 100
}

// Report is the result of Check. It covers everything that some version refers to.
type Report struct {
	Versions     uint64
	VersionNodes uint64
	Nodes        uint64 // of B+trees, each counted once
	Keys         uint64 // of leaves, each counted once
	Height       int    // of the newest version
	Files        []FileUse
	Orphans      []string // files that nothing refers to, ascending; not known where there are problems
	Problems     []error
}

// FileUse describes the used parts of a data file.
type FileUse struct {
	Name   string
	Size   int64
	Used   int64
	Unused []Extent // ascending; a tail of padding counts too
}

// Extent is a range of bytes.
type Extent struct{ Offset, Length int64 }

// Check reads all versions with all their nodes: checksums, heights, order and
// bounds of keys, statistics, and that every value lies inside its file. It does
// not read values, which have no checksum in this format. Damage goes to Problems. The error is for
// reasons that stop Check: no manifest, the end of the context, a failure of the system.
//
// Files in process directories (IsProcessDir) that a merged database does not
// refer to are orphans too: the manifests there, and superseded nodes.
func Check(ctx context.Context, f Files, o *CheckOptions) (*Report, error) {
	var options CheckOptions
	if o != nil {
		options = *o
	}
	if options.MaxFound <= 0 {
		options.MaxFound = 100
	}
	options.Generation, options.Time = 0, Options{}.Time
	db, err := Open(ctx, f, options.Options)
	if err != nil {
		return nil, err
	}
	c := checker{db: db, limit: options.MaxFound, seen: map[Node]bool{}, used: map[string][]Extent{}}
	c.report.Height = db.version.Root.Height
	err = c.versions(ctx, db.manifest.Versions, db.manifest.Older)
	if err == nil {
		err = c.files(ctx)
	}
	if err != nil && err != errEnough {
		return nil, err
	}
	if len(c.report.Problems) == 0 {
		c.orphans(options.Names)
	}
	return &c.report, nil
}

// errEnough ends a check that has found enough problems.
var errEnough = errors.New("enough problems")

type checker struct {
	db     *DB
	limit  int
	report Report
	seen   map[Node]bool
	used   map[string][]Extent // of each data file, as references come
}

// fault records a problem of the database. It returns any other error.
func (c *checker) fault(err error) error {
	switch errs.KindOf(err) {
	case errs.Corrupt, errs.Unsupported, errs.Exhausted:
	default:
		return err
	}
	c.report.Problems = append(c.report.Problems, err)
	if len(c.report.Problems) >= c.limit {
		return errEnough
	}
	return nil
}

func (c *checker) use(f File, offset, length int64) {
	if length > 0 {
		c.used[f.Path()] = append(c.used[f.Path()], Extent{offset, length})
	} else if _, ok := c.used[f.Path()]; !ok {
		c.used[f.Path()] = nil
	}
}

func (c *checker) versions(ctx context.Context, versions []Version, older []VersionNode) error {
	for _, v := range slices.Backward(versions) {
		c.report.Versions++
		if v.Empty() {
			continue
		}
		if err := c.node(ctx, step{ref: v.Root}); err != nil {
			return err
		}
	}
	for _, ref := range slices.Backward(older) {
		c.report.VersionNodes++
		c.use(ref.File, ref.Offset, ref.Length)
		n, err := c.db.loadVersionNode(ctx, ref)
		if err != nil {
			if err = c.fault(err); err != nil {
				return err
			}
			continue
		}
		if err := c.versions(ctx, n.versions, n.nodes); err != nil {
			return err
		}
	}
	return nil
}

// node checks what is below s. A node that was seen is checked against the
// bounds of this path alone.
func (c *checker) node(ctx context.Context, s step) error {
	if ctx.Err() != nil {
		return &errs.Error{Kind: errs.Canceled, Op: "ocdbt.Check", Err: context.Cause(ctx)}
	}
	again := c.seen[s.ref]
	if !again {
		c.seen[s.ref] = true
		c.report.Nodes++
		c.use(s.ref.File, s.ref.Offset, s.ref.Length)
	} else if s.low == "" && !s.hasHigh {
		return nil
	}
	n, err := c.db.load(ctx, s.ref, s.bounds())
	if err != nil {
		return c.fault(err)
	}
	if again {
		return nil
	}
	if n.height == 0 {
		c.report.Keys += uint64(n.len())
		for i := range n.len() {
			if v := n.value(i); !v.IsInline() {
				c.use(v.File, v.Offset, v.Length)
			}
		}
		return nil
	}
	for i := range n.len() {
		if err := c.node(ctx, s.down(n, i)); err != nil {
			return err
		}
	}
	return nil
}

// files sums up the used parts of each file.
func (c *checker) files(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(c.used)) {
		size, err := c.db.files.Size(ctx, name)
		if errors.Is(err, errs.NotFound) {
			err = c.db.files.checkExtent(ctx, name, 0, 0)
		}
		if err != nil {
			if err = c.fault(err); err != nil {
				return err
			}
			continue
		}
		u := FileUse{Name: name, Size: size}
		extents := c.used[name]
		slices.SortFunc(extents, func(a, b Extent) int { return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Length, b.Length)) })
		end := int64(0)
		for _, e := range extents {
			if e.Offset > size || e.Length > size-e.Offset {
				if err := c.fault(location{name, e.Offset}.corrupt("%d bytes wanted, the file has %d in all", e.Length, size)); err != nil {
					return err
				}
				continue
			}
			if e.Offset > end {
				u.Unused = append(u.Unused, Extent{end, e.Offset - end})
			}
			u.Used += max(0, e.Offset+e.Length-max(end, e.Offset))
			end = max(end, e.Offset+e.Length)
		}
		if end < size {
			u.Unused = append(u.Unused, Extent{end, size - end})
		}
		c.report.Files = append(c.report.Files, u)
	}
	return nil
}

// orphans finds the files that nothing refers to. Manifests are never orphans, except manifests of
// other databases.
func (c *checker) orphans(names []string) {
	for _, n := range names {
		if _, ok := c.used[n]; !ok && n != ManifestName && n != c.db.name {
			c.report.Orphans = append(c.report.Orphans, n)
		}
	}
	slices.Sort(c.report.Orphans)
}
