package crew

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// Directories returns the directories of the messages and of the checkpoint.
func (m *Meeting) Directories() (talk, txn string) { return m.talk.Staging(), m.txn.Staging() }

// Roll returns the message "plan" of a process.
func Roll(items []writer.Item, o *writer.Options) ([]byte, error) {
	r, err := rollOf(items, append(termsOf(o), Replicas{}.terms()...))
	if err != nil {
		return nil, err
	}
	tail := r.pack()
	b, err := json.Marshal(r)
	return append(append(b, '\n'), tail...), err
}

// Files returns the files of the report of this process, with their sizes.
func (m *Meeting) Files() (map[string]int64, error) {
	written, err := manifest.Parse(m.report.Manifest)
	if err != nil {
		return nil, err
	}
	files := map[string]int64{}
	for _, f := range written.Files {
		files[f.Name] = f.Size
	}
	return files, nil
}

// ReportAs returns the report of this process as another process would write it: with other names
// of its files below an item, other keys, and other sub-chunks of each array.
func (m *Meeting) ReportAs(
	item string, file, key func(string) string, at func(param string, chunk int) int,
) ([]byte, error) {
	written, err := manifest.Parse(m.report.Manifest)
	if err != nil {
		return nil, err
	}
	for i, f := range written.Files {
		written.Files[i].Name = file(f.Name)
	}
	r := report{Manifest: written.Append(nil), leaves: slices.Clone(m.report.leaves),
		entries: maps.Clone(m.report.entries)}
	for i := range r.leaves {
		l := &r.leaves[i]
		l.sums = slices.Clone(l.sums)
		for k := range l.sums {
			l.sums[k].at = at(l.param, l.sums[k].at)
		}
		slices.SortFunc(l.sums, func(a, b chunkSum) int { return a.at - b.at })
	}
	list := slices.Clone(r.entries[item])
	for i, e := range list {
		list[i].Key = key(e.Key)
		if !e.Value.IsInline() {
			list[i].Value.File = ocdbt.File{Name: file(item + "/" + e.Value.File.Name)[len(item)+1:]}
		}
	}
	slices.SortFunc(list, func(a, b ocdbt.Entry) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	r.entries[item] = list
	tail := r.pack()
	doc, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(sealed{Report: doc})
	return append(append(b, '\n'), tail...), err
}

// Guest returns the transaction of a process other than the primary.
func Guest(m *Meeting) store.Txn { return guest{m.txn} }
