package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/tarball"
	"github.com/bivouac-ml/bivouac/format/webdataset"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/internal/folders"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// WebdatasetFormat finds the samples of archives, as readers.webdataset reads them. The key of a
// record is the key of its sample, and its parts are the components.
var WebdatasetFormat = index.Format{
	Name: "webdataset",
	Scan: func(_ context.Context, r *io.SectionReader, add func(index.Record) error) error {
		var parts []index.Part
		samples := 0
		err := webdataset.Samples(r, r.Size(), webdataset.Direct, adder(&parts, func(r index.Record) error {
			samples++
			return add(r)
		}))
		if err == nil && samples == 0 {
			err = &errs.Error{Kind: errs.Invalid, Want: "at least one sample",
				Got:    "an archive without files of samples",
				Remedy: "files of samples have names such as 000001.jpg; leave the archive out of paths"}
		}
		return err
	},
}

// adder returns a function that adds samples as records. It uses the memory of parts.
func adder(parts *[]index.Part, add func(index.Record) error) func(webdataset.Sample) error {
	return func(s webdataset.Sample) error {
		r := index.Record{Key: s.Key}
		*parts = (*parts)[:0]
		end := int64(0)
		for i, c := range s.Components {
			*parts = append(*parts, index.Part{Name: c.Name, Offset: c.Offset, Length: c.Size})
			if i == 0 || c.Offset < r.Offset {
				r.Offset = c.Offset
			}
			end = max(end, c.Offset+c.Size)
		}
		r.Length, r.Parts = end-r.Offset, *parts
		return add(r)
	}
}

// indexOfText returns an index of the samples that indexes of wds2idx list, one for each archive.
func indexOfText(ctx context.Context, set *shards.Set, paths []string) (*index.Index, error) {
	texts, err := shards.Open(ctx, webdatasetName, paths)
	if err != nil {
		return nil, err
	}
	defer texts.Close() //nolint:errcheck // nothing was written
	places := map[string]int{}
	for i := range set.Len() {
		name := filepath.ToSlash(set.Path(i))
		if before, ok := places[name]; ok && paths[before] != paths[i] {
			return nil, &errs.Error{Kind: errs.Invalid, Op: webdatasetName, Subject: set.Path(i),
				Want: "one index for an archive",
				Got:  paths[before] + " and " + paths[i]}
		}
		places[name] = i
	}
	built := make([]*index.Index, set.Len())
	err = folders.Each(ctx, webdatasetName, paths[0], len(paths), func(i int) error {
		one, err := shards.Open(ctx, webdatasetName, []string{set.Path(i)})
		if err != nil {
			return err
		}
		defer one.Close() //nolint:errcheck // nothing was written
		format := index.Format{Name: WebdatasetFormat.Name,
			Scan: func(ctx context.Context, r *io.SectionReader, add func(index.Record) error) error {
				var parts []index.Part
				var ends [2]webdataset.Component // the first and the last
				next := adder(&parts, add)
				err := webdataset.ReadIndex(texts.Reader(ctx, i), r.Size(), func(s webdataset.Sample) error {
					if ends[1] = s.Components[len(s.Components)-1]; ends[0].Offset == 0 {
						ends[0] = s.Components[0]
					}
					return next(s)
				})
				for _, c := range ends {
					if err == nil {
						err = checkMember(r, c)
					}
				}
				return errs.Wrap("", "index "+paths[i], err)
			}}
		built[i], err = index.Build(ctx, webdatasetName, one, format, index.BuildOptions{Workers: 1})
		return err
	})
	if err != nil {
		return nil, err
	}
	return index.Build(ctx, webdatasetName, set, WebdatasetFormat, index.BuildOptions{
		Done: func(f index.File) *index.Index { return built[places[f.Name]] },
	})
}

// checkMember checks that a header of a file of the size of a component lies before it, with its
// name where the header has it.
func checkMember(r *io.SectionReader, c webdataset.Component) error {
	other := func(got string) error {
		return &errs.Error{Kind: errs.Mismatch,
			Want: fmt.Sprintf("a file %q of %d bytes at offset %d", c.File, c.Size, c.Offset), Got: got,
			Remedy: "the index is of another archive: make it again with wds2idx"}
	}
	if c.Offset < tarball.Block {
		return other("no header before it")
	}
	start, end := c.Offset-tarball.Block, min(r.Size(), c.Offset+(c.Size+tarball.Block-1)/tarball.Block*tarball.Block)
	var found *tarball.Member
	errFound := errors.New("found")
	err := tarball.Scan(io.NewSectionReader(r, start, end-start), end-start, tarball.Options{},
		func(m tarball.Member) error {
			found = &m
			return errFound
		})
	switch {
	case found == nil && errs.KindOf(err) == errs.Corrupt || err == nil:
		return other("other bytes")
	case found == nil:
		return err
	case found.Size != c.Size || found.Data != tarball.Block || found.Type != '0' && found.Type != 0 &&
		found.Type != '7':
		return other(fmt.Sprintf("%q of %d bytes", found.Name, found.Size))
	}
	short := len(found.Name) < 100 && len(c.File) < 100 && strings.IndexFunc(c.File,
		func(r rune) bool { return r > 126 }) < 0
	if c.File != "" && short && found.Name != c.File {
		return other(fmt.Sprintf("%q of %d bytes", found.Name, found.Size))
	}
	return nil
}
