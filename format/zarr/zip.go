package zarr

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// Zip is a KV whose values are the entries of a zip archive. Entries that are
// stored, as zarr's writers do it, are read in ranges from where they lie;
// compressed ones are decompressed as a whole for every read. The checksums of
// entries are checked where a whole entry is read by Get.
//
// It is immutable. It is safe for concurrent use if its reader is.
type Zip struct {
	r       io.ReaderAt
	size    int64
	limit   int64
	entries map[string]*zip.File
	names   []string
}

// ZipOptions tune NewZip.
type ZipOptions struct {
	MaxEntryBytes int64 // decompressed size of the largest entry that is compressed; 0: DefaultMaxChunkBytes
}

// NewZip reads the directory of the archive of that size. A file that is not such an archive, or
// holds one name twice, is errs.Corrupt.
func NewZip(r io.ReaderAt, size int64, o ZipOptions) (*Zip, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are keys here, not paths
		return nil, zipError("archive", err)
	}
	z := &Zip{r: r, size: size, limit: DefaultMaxChunkBytes, entries: map[string]*zip.File{}}
	if o.MaxEntryBytes > 0 {
		z.limit = o.MaxEntryBytes
	}
	for _, f := range archive.File {
		if f.Mode().IsDir() {
			continue
		}
		if _, twice := z.entries[f.Name]; twice {
			return nil, corrupt(f.Name, "the archive has two entries of that name")
		}
		if f.UncompressedSize64 > 1<<62 {
			return nil, corrupt(f.Name, "an entry of %d bytes", f.UncompressedSize64)
		}
		z.entries[f.Name] = f
		z.names = append(z.names, f.Name)
	}
	slices.Sort(z.names)
	return z, nil
}

func zipError(key string, err error) error {
	var damaged flate.CorruptInputError
	switch {
	case errors.As(err, &damaged), errors.Is(err, zip.ErrFormat), errors.Is(err, zip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &errs.Error{Kind: errs.Corrupt, Op: "zarr.Zip", Subject: key, Err: err}
	case errors.Is(err, zip.ErrAlgorithm):
		return &errs.Error{Kind: errs.Unsupported, Op: "zarr.Zip", Subject: key, Err: err}
	}
	return &errs.Error{Kind: errs.IO, Op: "zarr.Zip", Subject: key, Err: err}
}

// Names returns the names of all entries, ascending, which must not be changed.
func (z *Zip) Names() []string { return z.names }

func (z *Zip) entry(key string) (*zip.File, error) {
	f, ok := z.entries[key]
	if !ok {
		return nil, &errs.Error{Kind: errs.NotFound, Op: "zarr.Zip", Subject: "entry " + key}
	}
	return f, nil
}

// Size implements KV.
func (z *Zip) Size(_ context.Context, key string) (int64, error) {
	f, err := z.entry(key)
	if err != nil {
		return 0, err
	}
	return int64(f.UncompressedSize64), nil
}

// Get implements KV.
func (z *Zip) Get(_ context.Context, key string) ([]byte, error) {
	f, err := z.entry(key)
	if err != nil {
		return nil, err
	}
	return z.read(f)
}

// read decompresses a whole entry. Memory grows with what there is.
func (z *Zip) read(f *zip.File) ([]byte, error) {
	if int64(f.UncompressedSize64) > z.limit {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: "zarr.Zip", Subject: "entry " + f.Name,
			Got: itoa(int(f.UncompressedSize64)) + " bytes", Remedy: "raise ZipOptions.MaxEntryBytes"}
	}
	r, err := f.Open()
	if err != nil {
		return nil, zipError("entry "+f.Name, err)
	}
	defer r.Close() //nolint:errcheck // nothing was written
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, zipError("entry "+f.Name, err)
	}
	return b, nil
}

// ReadAt implements KV.
func (z *Zip) ReadAt(_ context.Context, key string, p []byte, off int64) error {
	f, err := z.entry(key)
	if err != nil {
		return err
	}
	if size := int64(f.UncompressedSize64); off < 0 || off > size || int64(len(p)) > size-off {
		return &errs.Error{Kind: errs.Invalid, Op: "zarr.Zip", Subject: "entry " + key, Want: "a range inside of it"}
	}
	if f.Method != zip.Store {
		b, err := z.read(f)
		if err == nil {
			copy(p, b[off:]) // archive/zip checked the length
		}
		return err
	}
	at, err := f.DataOffset()
	if err != nil {
		return zipError("entry "+key, err)
	}
	if size := int64(f.UncompressedSize64); at > z.size || size > z.size-at || f.CompressedSize64 != f.UncompressedSize64 {
		return corrupt("entry "+key, "reaches beyond the end of the archive")
	}
	if n, err := z.r.ReadAt(p, at+off); n < len(p) {
		return zipError("entry "+key, err)
	}
	return nil
}
