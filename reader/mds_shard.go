package reader

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/mds"
)

// mdsShard is a shard with samples.
type mdsShard struct {
	*mds.Shard
	first int64 // its first sample
	zip   bool  // the file is compressed

	mu       sync.Mutex // held to make the table of a shard without compression
	table    atomic.Pointer[mds.Table]
	verified bool
}

// mdsExpanded is what a compressed shard holds.
type mdsExpanded struct {
	data  []byte
	table mds.Table
}

// file returns the description of the file that is read.
func (s *mdsShard) file() *mds.File {
	if s.zip {
		return s.Zip
	}
	return &s.Raw
}

// checkSize compares the size of the file of a shard with the index.
func (m *mdsSet) checkSize(i int) error {
	if want, got := m.shards[i].file().Bytes, m.set.Size(i); got != want {
		return &errs.Error{Kind: errs.Corrupt, Op: mdsName, Subject: m.set.Path(i),
			Want: fmt.Sprintf("%d bytes, as index.json says", want),
			Got:  fmt.Sprintf("%d bytes", got), Remedy: "the shard was cut or replaced; copy it again"}
	}
	return nil
}

// place returns where a sample lies in shard i, which is not compressed.
func (m *mdsSet) place(ctx context.Context, i int, id int64) (from, to int64, err error) {
	s := m.shards[i]
	t := s.table.Load()
	if t == nil {
		if t, err = m.makeTable(ctx, i); err != nil {
			return 0, 0, err
		}
	}
	at := id - s.first
	return int64((*t)[at]), int64((*t)[at+1]), nil
}

// makeTable verifies a shard and reads its table.
func (m *mdsSet) makeTable(ctx context.Context, i int) (*mds.Table, error) {
	s := m.shards[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.table.Load(); t != nil {
		return t, nil
	}
	if m.verify && !s.verified && len(s.Raw.Hashes) > 0 {
		v := s.Raw.Verify()
		p := m.scratch.Get(1 << 20)
		defer m.scratch.Put(p)
		for at := int64(0); at < s.Raw.Bytes; {
			b := (*p)[:min(int64(len(*p)), s.Raw.Bytes-at)]
			if err := m.set.ReadAt(ctx, i, b, at); err != nil {
				return nil, err
			}
			v.Write(b) //nolint:errcheck // it cannot fail
			at += int64(len(b))
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if err := v.Close(); err != nil {
			return nil, err
		}
		s.verified = true
	}
	b := make([]byte, min(mds.TableSize(s.Samples), s.Raw.Bytes))
	if err := m.set.ReadAt(ctx, i, b, 0); err != nil {
		return nil, err
	}
	t, err := mds.ParseTable(b, s.Samples, s.Raw.Bytes)
	if err != nil {
		return nil, err
	}
	s.table.Store(&t)
	return &t, nil
}

// read calls f with the bytes of a sample, which f must not keep nor change.
func (m *mdsSet) read(ctx context.Context, id int64, f func(sample []byte) error) error {
	i := m.find(id)
	if !m.shards[i].zip {
		from, to, err := m.place(ctx, i, id)
		if err != nil {
			return err
		}
		b := make([]byte, to-from)
		if err := m.set.ReadAt(ctx, i, b, from); err != nil {
			return err
		}
		return f(b)
	}
	x, err := m.expanded.Get(ctx, i, func(ctx context.Context) (mdsExpanded, int64, error) { return m.expand(ctx, i) })
	if err != nil {
		return err
	}
	at := id - m.shards[i].first
	return f(x.data[x.table[at]:x.table[at+1]])
}

// expand reads, verifies and expands a compressed shard.
func (m *mdsSet) expand(ctx context.Context, i int) (x mdsExpanded, bytes int64, err error) {
	s := m.shards[i]
	b := make([]byte, s.Zip.Bytes)
	if err := m.set.ReadAt(ctx, i, b, 0); err != nil {
		return x, 0, err
	}
	check := func(f *mds.File, b []byte) error {
		if !m.verify {
			return nil
		}
		v := f.Verify()
		v.Write(b) //nolint:errcheck // it cannot fail
		return v.Close()
	}
	if err := check(s.Zip, b); err != nil {
		return x, 0, err
	}
	if x.data, err = mds.Expand(s.Compression, b, s.Raw.Bytes); err != nil {
		return x, 0, err
	}
	if err := check(&s.Raw, x.data); err != nil {
		return x, 0, err
	}
	x.table, err = mds.ParseTable(x.data[:min(mds.TableSize(s.Samples), int64(len(x.data)))], s.Samples,
		int64(len(x.data)))
	return x, int64(len(x.data)) + 4*s.Samples, err
}
