package pt

import (
	"archive/zip"
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/pickle"
	"github.com/bivouac-ml/bivouac/tree"
)

const (
	pickleName    = "data.pkl"
	orderName     = "byteorder"
	storageFolder = "data/"
)

// legacyMagic begins the format that torch.save wrote before version 1.6: a pickle of a long
// number.
const legacyMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"

// Reads at the ends of an archive that is too large to be read at once. Value and directory are
// mostly within them.
const (
	wholeBytes = 64 << 10
	headBytes  = 4 << 10
	tailBytes  = 4 << 10
)

// Archive is an open archive. It does not change, and does not need the reader any more.
type Archive struct {
	// Root is the value. A leaf is nil, bool, int64, uint64, float64, string, []byte, a tensor.Tensor
	// (an array of numpy, or a complex number), or a *Tensor.
	Root *tree.Node
	// Checked reports whether the files of the archive have checksums.
	Checked bool
}

// Open reads the directory and the value of an archive of size bytes.
//
// Errors: errs.Unsupported for the format before torch 1.6, for big-endian elements, and for a
// value that is not data; errs.Corrupt for anything else that is not such an archive.
func Open(r io.ReaderAt, size int64) (*Archive, error) {
	a, err := open(r, size)
	if err == nil {
		return a, nil
	}
	e := &errs.Error{Op: "pt", Err: err}
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrAlgorithm) || errors.Is(err, zip.ErrChecksum) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		e.Kind, e.Want = errs.Corrupt, "an archive of torch.save"
	}
	return nil, e
}

func open(r io.ReaderAt, size int64) (*Archive, error) {
	w, err := newWindows(r, size)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(w.head, []byte(legacyMagic)) {
		return nil, &errs.Error{Kind: errs.Unsupported, Want: "the zip format of torch.save",
			Got: "the format before torch 1.6", Remedy: "load it with torch.load, and save it again with torch.save"}
	}
	d, err := openDirectory(w, size)
	if err != nil {
		return nil, err
	}
	if err := d.littleEndian(); err != nil {
		return nil, err
	}
	b, err := d.read(pickleName)
	if err != nil {
		return nil, err
	}
	v, err := pickle.Parse(b, pickle.Options{Listed: listed})
	if err != nil {
		return nil, errs.Wrap("", pickleName, err)
	}
	root, err := build(v, len(b), d.storage)
	return &Archive{Root: root, Checked: d.checked}, err
}

// windows reads an archive through copies of its ends.
type windows struct {
	r          io.ReaderAt
	head, tail []byte
	tailAt     int64
}

func newWindows(r io.ReaderAt, size int64) (*windows, error) {
	w := &windows{r: r, head: make([]byte, min(size, headBytes))}
	if size <= wholeBytes {
		w.head = make([]byte, size)
	}
	if err := readFull(r, w.head, 0); err != nil {
		return nil, err
	}
	if rest := size - int64(len(w.head)); rest > 0 {
		w.tail = make([]byte, min(rest, tailBytes))
		w.tailAt = size - int64(len(w.tail))
		return w, readFull(r, w.tail, w.tailAt)
	}
	return w, nil
}

// readFull fills p. A file that ends before is io.ErrUnexpectedEOF.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// ReadAt implements io.ReaderAt.
func (w *windows) ReadAt(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	switch {
	case off >= 0 && end <= int64(len(w.head)):
		return copy(p, w.head[off:]), nil
	case len(w.tail) > 0 && off >= w.tailAt && end <= w.tailAt+int64(len(w.tail)):
		return copy(p, w.tail[off-w.tailAt:]), nil
	}
	return w.r.ReadAt(p, off)
}

// directory is the list of the files in an archive.
type directory struct {
	r       *windows
	size    int64
	files   map[string]*zip.File // without the name of the archive
	checked bool
	found   map[string]*Storage
}

func openDirectory(r *windows, size int64) (*directory, error) {
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, err
	}
	d := &directory{r: r, size: size, files: make(map[string]*zip.File, len(z.File)), found: map[string]*Storage{}}
	prefix := ""
	for _, f := range z.File {
		if at, ok := strings.CutSuffix(f.Name, "/"+pickleName); ok && !strings.Contains(at, "/") {
			prefix = at + "/"
			break
		}
	}
	for _, f := range z.File {
		name, ok := strings.CutPrefix(f.Name, prefix)
		if !ok {
			continue
		}
		if _, twice := d.files[name]; twice {
			return nil, &errs.Error{Kind: errs.Corrupt, Subject: strconv.Quote(f.Name), Got: "two files of that name"}
		}
		d.files[name] = f
		d.checked = d.checked || f.CRC32 != 0
	}
	return d, nil
}

// place returns where the bytes of a file lie.
func (d *directory) place(name string) (off, size int64, f *zip.File, err error) {
	f, ok := d.files[name]
	fail := func(kind errs.Kind, got string) (int64, int64, *zip.File, error) {
		return 0, 0, nil, &errs.Error{Kind: kind, Subject: strconv.Quote(name), Want: "an uncompressed file of the archive",
			Got: got}
	}
	if !ok {
		return fail(errs.Corrupt, "no such file")
	}
	if f.Method != zip.Store {
		return fail(errs.Unsupported, "compression method "+strconv.Itoa(int(f.Method)))
	}
	if off, err = f.DataOffset(); err != nil {
		return 0, 0, nil, errs.Wrap("", strconv.Quote(name), err)
	}
	if f.UncompressedSize64 != f.CompressedSize64 || f.CompressedSize64 > uint64(d.size-min(off, d.size)) {
		return fail(errs.Corrupt, "a file of "+strconv.FormatUint(f.UncompressedSize64, 10)+" bytes beyond the end")
	}
	return off, int64(f.CompressedSize64), f, nil
}

// read reads a small file of the archive and compares it with its checksum.
func (d *directory) read(name string) ([]byte, error) {
	off, size, f, err := d.place(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if err := readFull(d.r, b, off); err != nil {
		return nil, err
	}
	if d.checked {
		if err := sameSum(f.CRC32, crc32.ChecksumIEEE(b)); err != nil {
			return nil, errs.Wrap("", strconv.Quote(name), err)
		}
	}
	return b, nil
}

// littleEndian returns an error unless the elements are little-endian. Archives of old versions do
// not say it, and are.
func (d *directory) littleEndian() error {
	if d.files[orderName] == nil {
		return nil
	}
	b, err := d.read(orderName)
	if err == nil && string(b) != "little" {
		err = &errs.Error{Kind: errs.Unsupported, Subject: orderName, Want: "little",
			Got:    strconv.Quote(string(b[:min(len(b), 16)])),
			Remedy: "save it again on a little-endian machine"}
	}
	return err
}

// storage finds a storage by its key.
func (d *directory) storage(key string) (*Storage, error) {
	if s := d.found[key]; s != nil {
		return s, nil
	}
	off, size, f, err := d.place(storageFolder + key)
	if err != nil {
		return nil, err
	}
	s := &Storage{Offset: off, Size: size, CRC: f.CRC32, Checked: d.checked}
	d.found[key] = s
	return s, nil
}

func sameSum(want, got uint32) error {
	if want == got {
		return nil
	}
	hex := func(n uint32) string { return strconv.FormatUint(uint64(n), 16) }
	return &errs.Error{Kind: errs.Corrupt, Want: "CRC-32 " + hex(want), Got: hex(got)}
}
