package ocdbt

import (
	"context"
	"iter"

	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// largeNode is from how many bytes on a leaf is decoded while it is walked over, in a
// pass that comes to it once.
const largeNode = zframe.StreamFrom

// pass is List of everything, which keeps no node for later and has no large leaf in
// memory as a whole. The inline values that it yields may change when it goes on.
func (db *DB) pass(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if !db.version.Empty() {
			w := walker{db: db, yield: yield, seen: map[location]bool{}, once: true}
			w.walk(ctx, step{ref: db.version.Root}, "")
		}
	}
}

// decodeLarge is decodeNode for a pass. The values of a leaf whose body is compressed and
// larger than from bytes are still to be read from the cursor that it returns; else it
// returns the node with all that is in it, and no cursor.
func decodeLarge(b []byte, ref Node, limit int64, from int) (*node, *cursor, error) {
	at := location{file: ref.File.Path(), offset: ref.Offset}
	var c *cursor
	if ref.Height == 0 {
		var err error
		if c, err = streamEnvelope(b, magicNode, limit, from, at); err != nil {
			return nil, nil, err
		}
	}
	if c == nil {
		n, err := decodeNode(b, ref, limit)
		return n, nil, err
	}
	n, count, _ := beginNode(c, ref, limit)
	if n.readPlaces(c, count); c.err != nil {
		return nil, nil, c.err
	}
	return n, c, n.checkStats(ref, int64(len(b)), at)
}

// streamEnvelope is openEnvelope of a large compressed object, whose body is decoded as
// it is read. It returns nil where the object is not one that is worth it.
func streamEnvelope(b []byte, magic uint32, limit int64, from int, at location) (*cursor, error) {
	body, method, err := unwrap(b, magic, at)
	if err != nil || method != CompressionZstd {
		return nil, err
	}
	r, size, err := zframe.NewReader(body, from, int(min(limit, maxInt)))
	switch {
	case err == zframe.ErrSize:
		return nil, tooLarge(at, limit)
	case err != nil:
		return nil, at.corrupt("%v", err)
	case r == nil:
		return nil, nil
	}
	return &cursor{at: at, more: r, left: size}, nil
}
