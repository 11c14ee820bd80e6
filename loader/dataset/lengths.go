package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// tokensOf returns the place of the field that is packed.
func (p *dataPack) tokensOf(names []string) (int, error) {
	name := p.field
	if name == "" {
		name = tokensField
	}
	i := slices.Index(names, name)
	if i < 0 && p.field == "" && len(names) == 1 {
		return 0, nil
	}
	if i < 0 {
		return 0, &errs.Error{Kind: errs.NotFound, Want: "a field " + strconv.Quote(name) + " to pack",
			Got:    fmt.Sprintf("the fields %q", names),
			Remedy: "name it with field under pack, or rename it with fields"}
	}
	return i, nil
}

// measure finds the lengths of all samples.
func (d *Data) measure(ctx context.Context, o OpenOptions) error {
	p := d.file.pack
	if p.Block == 0 {
		p.Block = 1024
	}
	all := make([]int32, 0, d.samples)
	for _, s := range d.sources {
		list, err := d.lengthsOf(ctx, s, o)
		if err != nil {
			return errs.Wrap("dataset.Open", s.where, err)
		}
		for id, n := range list {
			if int(n) <= p.length {
				continue
			}
			if !p.cut {
				e := d.file.in.Wrong(p.where.Where(), fmt.Sprintf("samples of at most %d tokens", p.length),
					fmt.Sprintf("%d tokens in sample %d of source %s (%s)", n, id, s.name, s.data.Describe(int64(id))))
				e.Remedy = "write longer: cut, which drops the tokens beyond"
				return e
			}
			list[id] = int32(p.length)
		}
		all = append(all, list...)
	}
	var err error
	d.lengths, err = order.NewLengths(all)
	return err
}

// lengthsOf returns the lengths of the samples of a source: from the source, from a file that the
// data.yaml names, from the file of an earlier Open, or by reading every sample.
func (d *Data) lengthsOf(ctx context.Context, s *openSource, o OpenOptions) ([]int32, error) {
	i, err := d.file.pack.tokensOf(s.names)
	if err != nil {
		return nil, err
	}
	if s.lengths != "" {
		return s.readLengths()
	}
	column := -1
	if s.column != "" {
		if column = slices.Index(s.data.Names(), s.column); column < 0 {
			return nil, &errs.Error{Kind: errs.NotFound, Subject: "lengths", Want: fmt.Sprintf("one of %q", s.data.Names()),
				Got: strconv.Quote(s.column), Remedy: errs.DidYouMean(s.column, s.data.Names())}
		}
	} else if s.places[i] != s.text {
		if list := s.known(s.places[i]); list != nil {
			return list, nil
		}
	}
	h := state.NewHasher("bivouac.loader.lengths.v1")
	h.String(s.data.Info().Fingerprint)
	h.Int(int64(s.places[i]))
	h.String(s.column)
	if s.places[i] == s.text && column < 0 {
		h.String(s.coder.Fingerprint())
	}
	key := h.Sum()
	path := datafs.Join(d.lengthsFolder(), "bivouac.lengths-"+key[:16])
	list, err := readLengthsFile(path, key, s.data.Len())
	if err == nil {
		return list, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		slog.Warn("the file of lengths is not used, and all samples are read again", "from", "loader", "file", path,
			"error", err)
	}
	if list, err = s.count(ctx, i, column, o); err != nil {
		return nil, err
	}
	if datafs.IsURL(path) {
		slog.Warn("the lengths are not kept in a bucket: the next Open reads all samples again", "from", "loader",
			"file", path, "remedy", "open the data by a data.yaml on a disk")
		return list, nil
	}
	if err := writeLengthsFile(path, key, list); err != nil {
		slog.Warn("the lengths could not be kept: the next Open reads all samples again", "from", "loader", "file", path,
			"error", err)
	}
	return list, nil
}

// lengthsFolder is the folder of the data.yaml, or of the data set.
func (d *Data) lengthsFolder() string { return datafs.Dir(d.file.at) }

// known returns lengths that the source knows.
func (s *openSource) known(field int) []int32 {
	list := make([]int32, s.data.Len())
	for id := range list {
		n, ok := s.data.Length(int64(id), field)
		if !ok || n > math.MaxInt32 {
			return nil
		}
		list[id] = int32(n)
	}
	return list
}

// count reads every sample of the source. The length is the number in the field column of the
// reader, or if column is -1 the length of a field.
func (s *openSource) count(ctx context.Context, field, column int, o OpenOptions) ([]int32, error) {
	list := make([]int32, s.data.Len())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	const chunk = 64
	var next atomic.Int64
	var mu sync.Mutex
	var done int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for ctx.Err() == nil {
				from := next.Add(chunk) - chunk
				if from >= int64(len(list)) {
					return
				}
				to := min(from+chunk, int64(len(list)))
				for id := from; id < to; id++ {
					n, err := s.lengthOf(ctx, id, field, column)
					if err != nil {
						cancel(err)
						return
					}
					list[id] = n
				}
				mu.Lock()
				if done += to - from; o.Progress != nil {
					o.Progress("lengths of "+s.name, done, int64(len(list)))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return list, nil
}

func (s *openSource) lengthOf(ctx context.Context, id int64, field, column int) (int32, error) {
	if column >= 0 {
		f, err := s.data.Sample(ctx, id)
		if err != nil {
			return 0, err
		}
		one := f.Only([]string{s.column}, []int{column})
		n, err := reader.Decode[int32](&one)
		if err == nil && n < 0 {
			err = &errs.Error{Kind: errs.Mismatch, Subject: f.Origin() + ", field " + s.column,
				Want: "a length of at least 0", Got: fmt.Sprint(n)}
		}
		return n, err
	}
	f, err := s.at(ctx, id)
	if err != nil {
		return 0, err
	}
	t := f.Values[field]
	if len(t.Shape) != 1 || t.Shape[0] > math.MaxInt32 {
		return 0, &errs.Error{Kind: errs.Mismatch, Subject: f.Origin() + ", field " + f.Names[field],
			Want: "tokens, of one axis", Got: t.String()}
	}
	return int32(t.Shape[0]), nil
}

// readLengths reads the lengths from the file that the data.yaml names: integers in a .npy file.
func (s *openSource) readLengths() ([]int32, error) {
	b, err := datafs.ReadFile(context.Background(), s.lengths)
	if err != nil {
		return nil, pathError("lengths", s.lengths, err)
	}
	t, err := npy.Decode(b)
	if err != nil {
		return nil, errs.Wrap("lengths", s.lengths, err)
	}
	if !t.DType.IsInteger() || len(t.Shape) != 1 || int64(t.Shape[0]) != s.data.Len() {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "lengths", Subject: s.lengths,
			Want: fmt.Sprintf("a length for each of %d samples, integers", s.data.Len()), Got: t.String()}
	}
	v, err := tensor.Cast(tensor.Int32, t)
	if err != nil {
		return nil, err
	}
	if i := tensor.Loss(tensor.Int32, v.Data, t.DType, t.Data); i >= 0 {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "lengths", Subject: s.lengths, Want: "lengths below 2^31",
			Got: t.Element(i)}
	}
	list, err := tensor.Of[int32](v.Clone())
	for id, n := range list {
		if n < 0 {
			return nil, &errs.Error{Kind: errs.Mismatch, Op: "lengths", Subject: s.lengths, Want: "lengths of at least 0",
				Got: fmt.Sprintf("%d of sample %d", n, id)}
		}
	}
	return list, err
}

// A file of lengths:
//
//	bytes  0- 8   "BIVLENS1"
//	       8-40   the key: 32 hexadecimal digits
//	      40-48   the number of samples
//	      48-     the lengths, in 4 bytes each
//	       -4-    CRC32C of all bytes before
const lengthsMagic = "BIVLENS1"

func writeLengthsFile(path, key string, list []int32) error {
	b := make([]byte, 0, 52+4*len(list))
	b = append(append(b, lengthsMagic...), key...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(list)))
	for _, n := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	b = binary.LittleEndian.AppendUint32(b, crc.Sum(b))
	f, err := os.CreateTemp(filepath.Dir(path), ".bivouac.lengths-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // the first error counts
	}
	return err
}

func readLengthsFile(path, key string, n int64) ([]int32, error) {
	b, err := datafs.ReadFile(context.Background(), path)
	if err != nil {
		return nil, err
	}
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Corrupt, Op: "lengths", Subject: path, Want: want, Got: got}
	}
	if len(b) < 52 || string(b[:8]) != lengthsMagic {
		return nil, bad("a file that begins with "+lengthsMagic, fmt.Sprintf("%q", b[:min(len(b), 8)]))
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if got := crc.Sum(body); got != sum {
		return nil, bad(fmt.Sprintf("the checksum %08x", sum), fmt.Sprintf("%08x", got))
	}
	if string(b[8:40]) != key || binary.LittleEndian.Uint64(b[40:]) != uint64(n) || int64(len(body)-48) != 4*n {
		return nil, bad(fmt.Sprintf("%d lengths of data %s", n, key), fmt.Sprintf("%d of %s", (len(body)-48)/4, b[8:40]))
	}
	list := make([]int32, n)
	for i := range list {
		if list[i] = int32(binary.LittleEndian.Uint32(body[48+4*i:])); list[i] < 0 {
			return nil, bad("lengths of at least 0", fmt.Sprint(list[i]))
		}
	}
	return list, nil
}
