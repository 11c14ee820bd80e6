package parity

import (
	"context"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// volume is a parity file with its data files, as they are in a store, damaged or not.
type volume struct {
	*table
	parityFile store.Reader // nil if it cannot be read
	opened     map[string]store.Reader
	open       func(ctx context.Context, file string) (store.Reader, error)

	at     int            // first block of the region in mended
	mended map[int][]byte // computed blocks of that region
	memory []byte         // for one group
}

// lost reports whether an error says that bytes are missing or unreadable on the disk. Other errors
// prevent the check.
func lost(err error) bool {
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Corrupt, errs.IO, errs.Invalid:
		return true
	}
	return false
}

// openVolume opens a parity file, of which at least one table must be whole. file is its data file,
// or "" if several files share it.
func openVolume(ctx context.Context, name, file string,
	open func(ctx context.Context, file string) (store.Reader, error)) (*volume, error) {
	r, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	t, err := readTable(ctx, r)
	if err == nil && t.shared != (file == "") {
		err = damaged("a table of the wrong kind")
	}
	if err != nil {
		r.Close() //nolint:errcheck // nothing was written
		return nil, errs.Wrap("", name, err)
	}
	if file != "" {
		t.files = []span{{size: t.size, name: file}}
	}
	return &volume{table: t, parityFile: r, opened: map[string]store.Reader{}, open: open, at: -1}, nil
}

// readTable reads the first table, or else the second.
func readTable(ctx context.Context, r store.Reader) (*table, error) {
	t, err := firstTable(ctx, r)
	if err == nil || !lost(err) {
		return t, err
	}
	n, err := tableLength(ctx, r)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if err := r.ReadAt(ctx, b, r.Size()-trailer-n); err != nil {
		return nil, err
	}
	return parse(b)
}

// tableRead is how many bytes are read first. Most tables are smaller.
const tableRead = 256 << 10

// firstTable reads the table at the start of the file.
func firstTable(ctx context.Context, r store.Reader) (*table, error) {
	b := make([]byte, min(r.Size(), tableRead))
	if err := r.ReadAt(ctx, b, 0); err != nil {
		return nil, err
	}
	t, err := parse(b)
	if err == nil || r.Size() <= tableRead {
		return t, err
	}
	n, err := tableLength(ctx, r) // the table may be longer
	if err != nil {
		return nil, err
	}
	b = make([]byte, n)
	if err := r.ReadAt(ctx, b, 0); err != nil {
		return nil, err
	}
	return parse(b)
}

// tableLength returns the length of the table, which the end of the file holds.
func tableLength(ctx context.Context, r store.Reader) (int64, error) {
	size := r.Size()
	if size < trailer {
		return 0, damaged("no complete table")
	}
	var b [trailer]byte
	if err := r.ReadAt(ctx, b[:], size-trailer); err != nil {
		return 0, err
	}
	n, ok := parseTrailer(b[:])
	if !ok || n > size-trailer || n > maxTable {
		return 0, damaged("no complete table")
	}
	return n, nil
}

// maxTable bounds the memory for a table. It suffices for a file of some 16 TiB.
const maxTable = 1 << 30

func (v *volume) close() {
	v.parityFile.Close() //nolint:errcheck // nothing was written
	for _, r := range v.opened {
		if r != nil {
			r.Close() //nolint:errcheck // as above
		}
	}
}

// reader returns the reader of a file, or nil if the file is lost.
func (v *volume) reader(ctx context.Context, file string) (store.Reader, error) {
	r, ok := v.opened[file]
	if ok {
		return r, nil
	}
	r, err := v.open(ctx, file)
	if err != nil {
		if !lost(err) {
			return nil, err
		}
		r = nil
	}
	v.opened[file] = r
	return r, nil
}

// spanOf returns the file that has data block i.
func (v *volume) spanOf(i int) *span {
	lo, hi := 0, len(v.files)
	for lo < hi {
		mid := (lo + hi) / 2
		if v.files[mid].first <= int64(i) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for lo--; lo >= 0; lo-- { // an empty file has the block of the next file
		f := &v.files[lo]
		if int64(i)*int64(v.block) < f.first*int64(v.block)+f.size {
			return f
		}
		if f.size > 0 {
			break
		}
	}
	return nil
}

// read reads data block i, padded with zeros, into b. It reports whether the block is undamaged.
func (v *volume) read(ctx context.Context, i int, b []byte) (bool, error) {
	clear(b)
	f := v.spanOf(i)
	if f == nil {
		return false, nil
	}
	r, err := v.reader(ctx, f.name)
	if r == nil {
		return false, err
	}
	off := (int64(i) - f.first) * int64(v.block)
	n := min(int64(v.block), f.size-off)
	return v.readAt(ctx, r, b[:n], off, b[:v.length(i)], v.data[i])
}

// readParity works like read for a parity block.
func (v *volume) readParity(ctx context.Context, i int, b []byte) (bool, error) {
	return v.readAt(ctx, v.parityFile, b, v.head()+int64(i)*int64(v.block), b, v.parity[i])
}

func (v *volume) readAt(ctx context.Context, r store.Reader, b []byte, off int64, summed []byte,
	sum uint32) (bool, error) {
	if off+int64(len(b)) > r.Size() {
		return false, nil
	}
	if err := r.ReadAt(ctx, b, off); err != nil {
		if lost(err) {
			err = nil
		}
		return false, err
	}
	return crc.Sum(summed) == sum, nil
}

// get fills b, which has the length of a block, with data block i. It computes a damaged block from
// the others.
func (v *volume) get(ctx context.Context, i int, b []byte) error {
	if m, ok := v.mended[i]; ok {
		copy(b, m)
		return nil
	}
	ok, err := v.read(ctx, i, b)
	if ok || err != nil {
		return err
	}
	r := v.region(i)
	if r.first != v.at {
		v.at, v.mended = r.first, map[int][]byte{}
	}
	if err := v.mend(ctx, r, i); err != nil {
		return err
	}
	copy(b, v.mended[i])
	return nil
}

// mend computes the damaged data blocks of the group of block i.
func (v *volume) mend(ctx context.Context, r region, i int) error {
	code, err := codeOf(r.parity)
	if err != nil {
		return err
	}
	group, _ := r.place(i)
	if n := (shards + r.parity) * v.block; len(v.memory) < n {
		v.memory = make([]byte, n)
	}
	clear(v.memory)
	blocks, required := make([][]byte, shards+r.parity), make([]bool, shards)
	missing, spare := 0, 0
	for k := range blocks {
		blocks[k] = v.memory[k*v.block : (k+1)*v.block : (k+1)*v.block]
	}
	for k := range shards {
		at := r.first + k*r.groups + group
		if k*r.groups+group >= r.n {
			continue // zero
		}
		ok, err := v.read(ctx, at, blocks[k])
		if err != nil {
			return err
		}
		if !ok {
			blocks[k], required[k] = blocks[k][:0], true
			missing++
		}
	}
	for p := range r.parity {
		k := shards + p
		ok, err := v.readParity(ctx, r.parityAt(group, p), blocks[k])
		if err != nil {
			return err
		}
		if !ok {
			blocks[k] = blocks[k][:0]
			continue
		}
		spare++
	}
	if missing > spare {
		return &errs.Error{Kind: errs.Corrupt, Op: "parity",
			Want: "at most " + strconv.Itoa(spare) + " damaged blocks of a group", Got: strconv.Itoa(missing),
			Remedy: "more is lost than the parity can restore; load another step"}
	}
	if err := code.ReconstructSome(blocks, required); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: "parity", Err: err}
	}
	for k, want := range required {
		if !want {
			continue
		}
		at := r.first + k*r.groups + group
		if got := crc.Sum(blocks[k][:v.length(at)]); got != v.data[at] {
			return manifest.ChecksumError("block "+strconv.Itoa(at), v.data[at], got)
		}
		v.mended[at] = slices.Clone(blocks[k])
	}
	return nil
}

// stream passes the mended bytes of a file to sink in order.
func (v *volume) stream(ctx context.Context, file string, sink func(b []byte) error) error {
	for _, f := range v.files {
		if f.name != file {
			continue
		}
		b := make([]byte, v.block)
		for off := int64(0); off < f.size; off += int64(v.block) {
			if err := v.get(ctx, int(f.first+off/int64(v.block)), b); err != nil {
				return err
			}
			if err := sink(b[:min(int64(v.block), f.size-off)]); err != nil {
				return err
			}
		}
		return nil
	}
	return damaged("no such file: " + file)
}
