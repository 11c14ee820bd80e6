package ocdbt

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// EncodedNode is a node as it must be stored in its data file.
type EncodedNode struct {
	File   File
	Offset int64
	Bytes  []byte
}

// EncodeTree encodes entries, which must be sorted by key without duplicates,
// as the nodes of one B+tree, leaves first, and returns them with the root.
//
// place chooses the place of the next node of the given size. It is called once per node, in the
// order of the result. No entries give no nodes and a zero root. Nodes are split by
// c.MaxDecodedNodeBytes exactly as TensorStore splits them. Entries that no reader would accept are
// errs.Invalid.
func EncodeTree(entries []Entry, c Config, place func(size int) (File, int64)) ([]EncodedNode, Node, error) {
	return EncodeEntries(entryList(entries), c, place)
}

// EncodeEntries works like EncodeTree for entries that are made on demand, so that a tree of very
// many keys takes little more memory than its nodes.
func EncodeEntries(entries Entries, c Config, place func(size int) (File, int64)) ([]EncodedNode, Node, error) {
	if err := c.Validate(); err != nil {
		return nil, Node{}, err
	}
	if err := checkEntries(entries); err != nil {
		return nil, Node{}, err
	}
	if entries.Len() == 0 {
		return nil, Node{}, nil
	}
	e := treeEncoder{seal: newSealer(c), limit: uint64(c.MaxDecodedNodeBytes), place: place}
	level, err := e.leaves(entries, true)
	for height := 1; err == nil && len(level) > 1; height++ {
		if height > maxHeight {
			err = invalid("tree", "height of at most 255")
			break
		}
		level, err = e.inner(level, height, true)
	}
	if err != nil {
		return nil, Node{}, err
	}
	return e.nodes, level[0].node, nil
}

func invalid(subject, want string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "ocdbt.EncodeTree", Subject: subject, Want: want}
}

func checkEntries(entries Entries) error {
	var last File
	var held Ref
	var key, before []byte
	for i := range entries.Len() {
		key, before = entries.AppendKey(before[:0], i), key
		v := valueOf(entries, i, &held)
		switch {
		case len(key) > MaxKeyLength:
			return invalid("key "+string(key[:64])+"…", "at most 65535 bytes")
		case i > 0 && string(key) <= string(before):
			return invalid("key "+string(key), "a key greater than "+string(before))
		case v.IsInline():
			if len(v.Inline) > MaxInlineValue || int64(len(v.Inline)) != v.Length {
				return invalid("value of "+string(key), "Length bytes, at most 1 MiB")
			}
			continue
		case v.Offset < 0 || v.Length < 0 || v.Offset > maxInt64-v.Length:
			return invalid("value of "+string(key), "an offset and a length of 63 bits together")
		}
		if v.File != last || last == (File{}) {
			if why := checkFile(v.File); why != "" {
				return invalid("file of "+string(key), why)
			}
			last = v.File
		}
	}
	return nil
}

func checkFile(f File) string {
	if p := f.Path(); len(p) > MaxPathLength {
		return "a path of at most 65535 bytes"
	} else if why := checkPath(p); why != "" {
		return "a path that stays in the directory; " + why
	}
	return ""
}

// treeEncoder encodes level after level.
type treeEncoder struct {
	seal  sealer
	limit uint64
	place func(size int) (File, int64)
	nodes []EncodedNode
}

// innerEntry is the entry that a node gets in its parent.
type innerEntry struct {
	key    string // first key of the node, whole
	prefix int    // how many of its bytes the keys in the node lack
	node   Node
}

// maxHeight is the largest height of a node.
const maxHeight = math.MaxUint8

// leaves writes entries as leaves; top: no other node is at their height.
func (e *treeEncoder) leaves(entries Entries, top bool) ([]innerEntry, error) {
	var key []byte
	var held Ref
	list, _ := entries.(entryList)
	size := func(i int) uint64 {
		v, length := valueOf(entries, i, &held), 0
		if list != nil {
			length = len(list[i].Key)
		} else {
			key = entries.AppendKey(key[:0], i)
			length = len(key)
		}
		if v.IsInline() {
			return 16 + uint64(length+len(v.Inline))
		}
		return 32 + uint64(length+len(v.File.Base)+len(v.File.Name))
	}
	n := entries.Len()
	shared := func(i, j int) int { return commonPrefix(keyOf(entries, i), keyOf(entries, j)) }
	return e.level(n, shared(0, n-1), 1, size, func(i, j int) ([]byte, innerEntry, error) {
		var prefix int
		if !top || i > 0 || j < n {
			prefix = shared(i, j-1)
		}
		part := newLeafPart(entries, i, j, prefix)
		b, err := e.seal.stream(magicNode, part.write)
		return b, innerEntry{key: keyOf(entries, i), prefix: prefix, node: Node{Stats: part.stats()}}, err
	})
}

// inner writes children as nodes of that height; top means the same as in leaves.
func (e *treeEncoder) inner(children []innerEntry, height int, top bool) ([]innerEntry, error) {
	size := func(i int) uint64 {
		c := &children[i]
		return 56 + uint64(len(c.key)+len(c.node.File.Base)+len(c.node.File.Name))
	}
	n := len(children)
	return e.level(n, commonPrefix(children[0].key, children[n-1].key), 2, size, func(i, j int) ([]byte, innerEntry, error) {
		part := children[i:j]
		var prefix int
		if !top || i > 0 || j < n {
			prefix = commonPrefix(part[0].key, part[len(part)-1].key)
			for k := range part {
				prefix = min(prefix, part[k].prefix)
			}
		}
		body, stats := innerBody(part, prefix, height)
		return e.seal.seal(magicNode, body), innerEntry{key: part[0].key, prefix: prefix, node: Node{Height: height, Stats: stats}}, nil
	})
}

// level cuts n entries into nodes and encodes them. shared is the length of the
// prefix of all keys of the level; encode makes the node of entries i … j-1 and
// the entry for the parent, of which level fills in the place. It is called for
// several nodes at once.
func (e *treeEncoder) level(n, shared, minArity int, size func(i int) uint64,
	encode func(i, j int) ([]byte, innerEntry, error)) ([]innerEntry, error) {
	sums := make([]uint64, n+1)
	for i := range n {
		sums[i+1] = sums[i] + size(i)
	}
	span := func(i, j int) uint64 { return sums[j] - sums[i] - uint64(j-i-1)*uint64(shared) }
	starts := []int{0}
	for i := 0; i < n; starts = append(starts, i) {
		i = e.cut(i, n, minArity, span)
	}
	type encoded struct {
		b     []byte
		entry innerEntry
		err   error
	}
	out := make([]innerEntry, 0, len(starts)-1)
	some := make([]encoded, runtime.GOMAXPROCS(0)) // nodes that are encoded at once
	for first := 0; first < len(starts)-1; first += len(some) {
		some = some[:min(len(some), len(starts)-1-first)]
		var all sync.WaitGroup
		for k := range some[1:] {
			all.Go(func() {
				c := &some[1+k]
				c.b, c.entry, c.err = encode(starts[first+1+k], starts[first+2+k])
			})
		}
		some[0].b, some[0].entry, some[0].err = encode(starts[first], starts[first+1])
		all.Wait()
		for _, c := range some {
			if c.err != nil {
				return nil, c.err
			}
			if err := e.put(c.b, &c.entry); err != nil {
				return nil, err
			}
			out = append(out, c.entry)
		}
	}
	return out, nil
}

// put gives an encoded node its place, and tells it to the entry of its parent.
func (e *treeEncoder) put(b []byte, entry *innerEntry) error {
	file, offset := e.place(len(b))
	if why := checkFile(file); why != "" {
		return invalid("file of a node", why)
	}
	if offset < 0 || offset > maxInt64-int64(len(b)) {
		return invalid("offset of a node", "63 bits")
	}
	e.nodes = append(e.nodes, EncodedNode{File: file, Offset: offset, Bytes: b})
	entry.node.File, entry.node.Offset, entry.node.Length = file, offset, int64(len(b))
	entry.node.Stats.TreeBytes = saturate(entry.node.Stats.TreeBytes, uint64(len(b)))
	return nil
}

// cut returns the end of the node that begins with entry i of n. span estimates
// the decoded size of a range. The remaining entries are spread evenly over as
// few nodes as the limits allow.
func (e *treeEncoder) cut(i, n, minArity int, span func(i, j int) uint64) int {
	total := span(i, n)
	nodes := ceilDiv(uint64(n-i), MaxNodeArity)
	if e.limit != 0 {
		nodes = max(nodes, ceilDiv(total, e.limit))
	}
	target := ceilDiv(total, nodes)
	j := i + 1
	for j < n {
		if j-i >= MaxNodeArity || j-i >= minArity && span(i, j) >= target {
			break
		}
		j++
	}
	if e.limit != 0 && span(i, j) > e.limit && j-i > minArity {
		j--
	}
	return j
}

func ceilDiv(a, b uint64) uint64 { return (a + b - 1) / b }

// appendKeys appends the columns of the keys of an interior node, which lack their first
// prefix bytes.
func appendKeys(b []byte, prefix int, children []innerEntry) []byte {
	shared := make([]int, len(children))
	for i := 1; i < len(children); i++ {
		shared[i] = commonPrefix(children[i-1].key, children[i].key)
		b = binary.AppendUvarint(b, uint64(shared[i]-prefix))
	}
	shared[0] = prefix
	for i := range children {
		b = binary.AppendUvarint(b, uint64(len(children[i].key)-shared[i]))
	}
	for i := range children {
		b = binary.AppendUvarint(b, uint64(children[i].prefix-prefix))
	}
	for i := range children {
		b = append(b, children[i].key[shared[i]:]...)
	}
	return b
}

// innerBody encodes an interior node whose keys lack their first prefix bytes. The
// node's own size is not in the statistics.
func innerBody(children []innerEntry, prefix, height int) ([]byte, Stats) {
	files := newFileSet(func(yield func(File) bool) {
		for i := range children {
			if !yield(children[i].node.File) {
				return
			}
		}
	})
	var stats Stats
	for i := range children {
		stats.add(children[i].node.Stats)
	}
	b := files.append([]byte{byte(height)})
	b = binary.AppendUvarint(b, uint64(len(children)))
	b = appendKeys(b, prefix, children)
	column := func(field func(n *Node) uint64) {
		for i := range children {
			b = binary.AppendUvarint(b, field(&children[i].node))
		}
	}
	column(func(n *Node) uint64 { return files.index[n.File] })
	column(func(n *Node) uint64 { return uint64(n.Offset) })
	column(func(n *Node) uint64 { return uint64(n.Length) })
	column(func(n *Node) uint64 { return n.Stats.Keys })
	column(func(n *Node) uint64 { return n.Stats.TreeBytes })
	column(func(n *Node) uint64 { return n.Stats.IndirectBytes })
	return b, stats
}

// MergeEntries returns the union of several sorted lists of entries, sorted. Of
// entries with the same key, the one of the later list wins. The lists are not
// changed.
func MergeEntries(lists ...[]Entry) []Entry {
	var n int
	for _, l := range lists {
		n += len(l)
	}
	all := make([]Entry, 0, n)
	for i := range lists {
		all = append(all, lists[len(lists)-1-i]...)
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(all, func(a, b Entry) bool { return a.Key == b.Key })
}

// Below returns the entry as it reads from a database in an ancestor directory,
// of which dir, ending in "/", is the path of this one. Inline values stay.
func (e Entry) Below(dir string) Entry {
	if !e.Value.IsInline() {
		e.Value.File.Base = dir + e.Value.File.Base
	}
	return e
}
