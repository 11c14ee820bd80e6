package reader

import (
	"context"

	"github.com/bivouac-ml/bivouac/format/mds"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// Placed is implemented by sources that know which bytes of their files a sample has.
type Placed interface {
	// Files returns the files.
	Files() *shards.Set
	// Spans appends the bytes that Fetch reads for a sample. It may leave out bytes. It reads no file.
	Spans(list []shards.Span, id int64) []shards.Span
}

// AheadOf returns a function that begins to read samples which are going to be fetched in this
// order, and does not wait. It returns nil if the source needs no such call: its files are local,
// or it does not know where its samples lie.
func AheadOf(s Source) func(ids []int64) {
	switch s := s.(type) {
	case *Data:
		return s.ahead
	case *files:
		if s.objects.ends != nil {
			return s.ahead
		}
	case *mdsSet:
		if s.set.Far() {
			return s.ahead
		}
	case Placed:
		if set := s.Files(); set.Far() {
			return func(ids []int64) {
				spans := make([]shards.Span, 0, len(ids))
				for _, id := range ids {
					spans = s.Spans(spans, id)
				}
				set.Ahead(spans)
			}
		}
	}
	return nil
}

// Files implements Placed.
func (c *container) Files() *shards.Set { return c.set }

// Spans implements Placed.
func (c *container) Spans(list []shards.Span, id int64) []shards.Span {
	return spansOf(c.index, list, id)
}

// spansOf appends where an index says that a record lies.
func spansOf(x *index.Index, list []shards.Span, id int64) []shards.Span {
	at, err := x.Span(id)
	if err != nil {
		return list // Fetch returns the error
	}
	return append(list, shards.Span{File: at.File, Offset: at.Offset, Length: at.Length})
}

// wholeFile appends the whole file of a sample, where each sample has a file.
func wholeFile(set *shards.Set, list []shards.Span, id int64) []shards.Span {
	return append(list, shards.Span{File: int(id), Length: set.Size(int(id))})
}

// Files implements Placed.
func (w *archives) Files() *shards.Set { return w.set }

// Spans implements Placed.
func (w *archives) Spans(list []shards.Span, id int64) []shards.Span {
	return spansOf(w.index, list, w.record(id))
}

// Files implements Placed.
func (s *lineSource) Files() *shards.Set { return s.set }

// Spans implements Placed.
func (s *lineSource) Spans(list []shards.Span, id int64) []shards.Span {
	return spansOf(s.x, list, s.record(id))
}

// Files implements Placed.
func (s *lmdbSource) Files() *shards.Set { return s.set }

// Spans implements Placed.
func (s *lmdbSource) Spans(list []shards.Span, id int64) []shards.Span {
	return spansOf(s.index, list, id)
}

// Files implements Placed.
func (r *arrayRecords) Files() *shards.Set { return r.set }

// Spans implements Placed: samples are read by chunks.
func (r *arrayRecords) Spans(list []shards.Span, id int64) []shards.Span {
	file, chunk, _ := r.find(id)
	from, to := r.files[file].Range(chunk)
	return append(list, shards.Span{File: file, Offset: from, Length: to - from})
}

// Files implements Placed.
func (m *mdsSet) Files() *shards.Set { return m.set }

// Spans implements Placed. Of a shard that was not read yet it is the table, or the whole shard if
// it is compressed or verified.
func (m *mdsSet) Spans(list []shards.Span, id int64) []shards.Span {
	i := m.find(id)
	s := m.shards[i]
	t := s.table.Load()
	switch {
	case s.zip:
		return append(list, shards.Span{File: i, Length: s.Zip.Bytes})
	case t == nil && m.verify && len(s.Raw.Hashes) > 0: // makeTable reads all of it
		return append(list, shards.Span{File: i, Length: s.Raw.Bytes})
	case t == nil:
		return append(list, shards.Span{File: i, Length: min(mds.TableSize(s.Samples), s.Raw.Bytes)})
	}
	at := id - s.first
	from, to := int64((*t)[at]), int64((*t)[at+1])
	return append(list, shards.Span{File: i, Offset: from, Length: to - from})
}

// ahead begins to read samples. Of a shard that was not read yet it reads the table first, and not
// on the goroutine of the caller.
func (m *mdsSet) ahead(ids []int64) {
	spans := make([]shards.Span, 0, len(ids))
	later := map[int][]int64{} // ids of shards without a table
	for _, id := range ids {
		if i := m.find(id); !m.shards[i].zip && m.shards[i].table.Load() == nil {
			later[i] = append(later[i], id)
		} else {
			spans = m.Spans(spans, id)
		}
	}
	for i, ids := range later {
		spans = m.Spans(spans, ids[0]) // the table
		go func() {
			if _, err := m.makeTable(context.Background(), i); err != nil {
				return // Fetch returns the error
			}
			var spans []shards.Span
			for _, id := range ids {
				spans = m.Spans(spans, id)
			}
			m.set.Ahead(spans)
		}()
	}
	m.set.Ahead(spans)
}

// Files implements Placed.
func (s *tokenSource) Files() *shards.Set { return s.set }

// Spans implements Placed.
func (s *tokenSource) Spans(list []shards.Span, id int64) []shards.Span {
	file, first, n := s.place(id)
	f := &s.files[file]
	size := int64(f.dtype.Size())
	return append(list, shards.Span{File: file, Offset: f.at + first*size, Length: n * size})
}

// Files implements Placed.
func (s *folderSource) Files() *shards.Set { return s.set }

// Spans implements Placed.
func (s *folderSource) Spans(list []shards.Span, id int64) []shards.Span {
	return wholeFile(s.set, list, id)
}

// Files implements Placed.
func (s *cocoSource) Files() *shards.Set { return s.set }

// Spans implements Placed.
func (s *cocoSource) Spans(list []shards.Span, id int64) []shards.Span {
	return wholeFile(s.set, list, id)
}

// Files implements Placed.
func (s *nemoSource) Files() *shards.Set { return s.set }

// Spans implements Placed.
func (s *nemoSource) Spans(list []shards.Span, id int64) []shards.Span {
	return wholeFile(s.set, list, id)
}

// Files implements Placed.
func (n *arrays) Files() *shards.Set { return n.files.set }

// Spans implements Placed.
func (n *arrays) Spans(list []shards.Span, id int64) []shards.Span {
	return wholeFile(n.files.set, list, id)
}

// Files implements Placed.
func (s *arraySource) Files() *shards.Set { return s.set }

// Spans implements Placed.
func (s *arraySource) Spans(list []shards.Span, id int64) []shards.Span {
	file := findRun(s.starts, id)
	for o := range s.columns {
		if p, n := &s.files[file].places[o], s.columns[o].bytes; p.offset >= 0 {
			list = append(list, shards.Span{File: file, Offset: p.offset + (id-s.starts[file])*n, Length: n})
		}
	}
	return list
}
