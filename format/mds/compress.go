package mds

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// Compressions returns the compressions that shards have.
func Compressions() []string { return []string{"br", "bz2", "gz", "snappy", "zstd"} }

// Expand returns what a compressed shard holds, which must be size bytes. Fails with errs.Corrupt
// for bytes that expand to another size.
func Expand(compression string, b []byte, size int64) ([]byte, error) {
	corrupt := func(err error) error {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("%d bytes compressed with %s", size, compression),
			Err: err}
	}
	if size < 0 || size > math.MaxUint32 {
		return nil, &errs.Error{Kind: errs.Corrupt, Want: "a shard of at most 4 GiB",
			Got: fmt.Sprintf("%d bytes", size)}
	}
	var r io.Reader
	switch compression {
	case "br":
		r = brotli.NewReader(bytes.NewReader(b))
	case "bz2":
		r = bzip2.NewReader(bytes.NewReader(b))
	case "gz":
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, corrupt(err)
		}
		r = z
	case "snappy":
		if n, err := snappy.DecodedLen(b); err != nil || int64(n) != size {
			return nil, corrupt(errors.Join(err, fmt.Errorf("it declares %d bytes", n)))
		}
		if size > 64*int64(len(b)) {
			return nil, corrupt(errors.New("it is too short"))
		}
		out, err := snappy.Decode(nil, b)
		if err != nil {
			return nil, corrupt(err)
		}
		return out, nil
	case "zstd":
		out, err := zframe.DecodeFrames(nil, b, int(size)+1)
		if err == nil && int64(len(out)) != size {
			err = fmt.Errorf("it holds %d bytes", len(out))
		}
		if err != nil {
			return nil, corrupt(err)
		}
		return out, nil
	default:
		return nil, &errs.Error{Kind: errs.Unsupported, Want: fmt.Sprintf("a compression of %v", Compressions()),
			Got: fmt.Sprintf("%q", compression)}
	}
	// The buffer grows with what comes: the size is not believed before.
	out := bytes.NewBuffer(make([]byte, 0, min(size, 8*int64(len(b))+512)))
	n, err := io.Copy(out, io.LimitReader(r, size+1))
	if err == nil && n != size {
		err = fmt.Errorf("it holds %d bytes or more", n)
	}
	if err != nil {
		return nil, corrupt(err)
	}
	return out.Bytes(), nil
}
