package index

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/seekable"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/reader/unpack"
)

// packed says where a compressed file can be decompressed from. A file that is not compressed has
// none.
type packed struct {
	kind    seekable.Kind
	content int64
	list    []seekable.Block
}

// unpackFile finds the blocks of file i of a set if it is compressed, and makes its contents what
// the set reads. It returns nil if the file is not compressed.
func unpackFile(ctx context.Context, set *shards.Set, i int) (*packed, error) {
	kind, err := unpack.Detect(ctx, set, i)
	if err != nil || kind == seekable.None {
		return nil, err
	}
	p := &packed{kind: kind}
	p.content, err = seekable.Scan(kind, set.Stored(ctx, i), set.File(i).Size, func(b seekable.Block) error {
		b.Window = seekable.PackWindow(b.Window)
		p.list = append(p.list, b)
		return ctx.Err()
	})
	if err != nil {
		return nil, errs.Wrap("", set.Path(i), err)
	}
	blocks := unpack.Of(p.list)
	blocks.Block = func(i int64) (b seekable.Block, err error) {
		b = p.list[i]
		b.Window, err = seekable.UnpackWindow(b.Window)
		return b, err
	}
	// A format reads on from start to end, so few blocks are wanted again.
	set.Show(i, unpack.New(set, i, kind, p.content, blocks, unpack.NewCache(4*seekable.Spacing)))
	return p, nil
}

// describe adds to the description of a file what is known of its contents.
func (p *packed) describe(f *File) {
	if f.Content = f.Size; p != nil {
		f.Content, f.kind, f.points = p.content, p.kind, [2]int64{0, int64(len(p.list))}
	}
}

// columns returns the columns of the blocks.
func (p *packed) columns() []source {
	if p == nil {
		return nil
	}
	var out, in, length, sum []uint64
	var windows texts
	for _, b := range p.list {
		header := uint64(0)
		if b.Header {
			header = 1
		}
		out, in = append(out, uint64(b.Out)), append(in, uint64(b.In)<<1|header)
		length, sum = append(length, uint64(b.Length)), append(sum, uint64(b.Sum))
		windows.add(string(b.Window))
	}
	return append([]source{numbers("point.out", out), numbers("point.in", in), numbers("point.length", length),
		numbers("point.sum", sum)},
		windows.columns("point.window")...)
}

// packedColumns describe which of some files are compressed.
func packedColumns(files []File) []source {
	var kind, content, points []uint64
	any, total := false, int64(0)
	for _, f := range files {
		any = any || f.kind != seekable.None
		kind, content, points = append(kind, uint64(f.kind)), append(content, uint64(f.Content)), append(points,
			uint64(total))
		total += f.points[1] - f.points[0]
	}
	if !any {
		return nil
	}
	return []source{numbers("file.kind", kind), numbers("file.content", content),
		numbers("file.points", append(points, uint64(total)))}
}

// readPacked reads packedColumns.
func (x *Index) readPacked() error {
	kind, content, points := x.columns["file.kind"], x.columns["file.content"], x.columns["file.points"]
	for i := range x.files {
		x.files[i].Content = x.files[i].Size
	}
	if kind == nil {
		return nil
	}
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Corrupt, Op: "index.Open", Want: want, Got: got,
			Remedy: "make the index again with bivouac index"}
	}
	n, blocks := int64(len(x.files)), int64(0)
	if c := x.columns["point.out"]; c != nil {
		blocks = c.Len()
	}
	for _, name := range []string{"point.in", "point.length", "point.sum", "point.window.end"} {
		if c := x.columns[name]; c == nil || c.Len() != blocks {
			return bad(fmt.Sprintf("%d blocks in column %s", blocks, name), "another number")
		}
	}
	if content == nil || points == nil || kind.Len() != n || content.Len() != n || points.Len() != n+1 {
		return bad("columns of the contents of files", "columns of other lengths")
	}
	for i := range x.files {
		var v [4]uint64
		for j, c := range []*Column{kind, content, points, points} {
			at := int64(i)
			if j == 3 {
				at++
			}
			var err error
			if v[j], err = c.At(at); err != nil {
				return err
			}
		}
		if v[0] > uint64(seekable.Zstd) || int64(v[1]) < 0 || v[2] > v[3] || v[3] > uint64(blocks) {
			return bad(fmt.Sprintf("file %d with blocks within %d", i, blocks),
				fmt.Sprintf("kind %d, %d bytes, blocks %d to %d", v[0], v[1], v[2], v[3]))
		}
		f := &x.files[i]
		f.kind, f.Content, f.points = seekable.Kind(v[0]), int64(v[1]), [2]int64{int64(v[2]), int64(v[3])}
	}
	return nil
}

// show makes the contents of compressed files what the set reads. The files of x are the files of
// the set.
func (x *Index) show(set *shards.Set) {
	cache := unpack.NewCache(unpack.DefaultBudget)
	for i, f := range x.files {
		if f.kind != seekable.None {
			of := x
			if x.pieces != nil {
				of = x.pieces[i].x
			}
			set.Show(i, unpack.New(set, i, f.kind, f.Content, of.blocks(f), cache))
		}
	}
}

// blocks returns the blocks of a file.
func (x *Index) blocks(f File) unpack.Blocks {
	n, out := f.points[1]-f.points[0], x.columns["point.out"]
	start := func(i int64) (int64, error) {
		v, err := out.At(f.points[0] + i)
		return int64(v), err
	}
	return unpack.Blocks{Len: n, Out: start, Block: func(i int64) (b seekable.Block, err error) {
		var v [4]uint64
		for j, name := range []string{"point.out", "point.in", "point.length", "point.sum"} {
			if v[j], err = x.columns[name].At(f.points[0] + i); err != nil {
				return b, err
			}
		}
		end := f.Content
		if i+1 < n {
			if end, err = start(i + 1); err != nil {
				return b, err
			}
		}
		window, err := x.text("point.window", f.points[0]+i)
		if err != nil {
			return b, err
		}
		b = seekable.Block{Out: int64(v[0]), Size: end - int64(v[0]), In: int64(v[1] >> 1), Length: int64(v[2]), Header: v[1]&1 != 0, Sum: uint32(v[3])}
		b.Window, err = seekable.UnpackWindow([]byte(window))
		return b, err
	}}
}

// movePoints makes the blocks of a file those after base others.
func (f *File) movePoints(base int64) { f.points[0], f.points[1] = f.points[0]+base, f.points[1]+base }

// pointsOf returns the number of blocks of an index.
func pointsOf(x *Index) int64 {
	if c := x.columns["point.out"]; c != nil {
		return c.Len()
	}
	return 0
}

// points joins the columns of blocks.
func (m *merger) points() []source {
	total := int64(0)
	for _, x := range m.parts {
		total += pointsOf(x)
	}
	if total == 0 {
		return nil
	}
	return []source{m.column("point.out", nil), m.column("point.in", nil), m.column("point.length", nil),
		m.column("point.sum", nil),
		m.ends("point.window.end", "point.window.bytes", pointsOf), m.bytes("point.window.bytes")}
}
