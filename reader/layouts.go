package reader

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
)

// DetectSplit works like Detect for one split of a data set, such as "train". The folders that
// Hugging Face's datasets reads have splits: folders or files with the name of a split, and folders
// that save_to_disk wrote. Without a split the data set must have only one. Fails with
// errs.NotFound if it does not have the split.
func DetectSplit(ctx context.Context, paths []string, split string) (name string, args op.Args, err error) {
	if len(paths) == 1 {
		name, args, ok, err := layoutOf(ctx, paths[0], split)
		if ok || err != nil {
			return name, args, err
		}
	}
	if split != "" {
		return "", nil, &errs.Error{Kind: errs.NotFound, Op: "reader.Detect", Subject: paths[0],
			Want: "a folder with the split " + split, Got: "data without splits", Remedy: "leave the split out"}
	}
	return detect(ctx, paths)
}

// splitKeywords are the names that folders and files of a split have, as Hugging Face's datasets
// knows them.
var splitKeywords = []struct {
	split    string
	keywords []string
}{
	{"train", []string{"train", "training"}},
	{"validation", []string{"validation", "valid", "dev", "val"}},
	{"test", []string{"test", "testing", "eval", "evaluation"}},
}

// splitSeparators are the characters around the name of a split in a longer name.
const splitSeparators = "-._ 0123456789"

// splitOf returns the split whose name a folder has. rank is the place of the files of the folder
// among the files of the split. file says that it is the name of a file, which goes on behind the
// name of the split.
func splitOf(name string, file bool) (split string, rank int, ok bool) {
	for _, s := range splitKeywords {
		for k, keyword := range s.keywords {
			for at := strings.Index(name, keyword); at >= 0; {
				end := at + len(keyword)
				before := at == 0 || strings.IndexByte(splitSeparators, name[at-1]) >= 0
				whole := end == len(name)
				if before && (whole && !file || !whole && strings.IndexByte(splitSeparators, name[end]) >= 0) {
					rank = 4 * k
					if at > 0 {
						rank += 2
					}
					if !whole {
						rank++
					}
					return s.split, rank, true
				}
				next := strings.Index(name[at+1:], keyword)
				if next < 0 {
					break
				}
				at += 1 + next
			}
		}
	}
	return "", 0, false
}

// sharded matches the files of a split that has shards: train-00000-of-00005.parquet.
var sharded = regexp.MustCompile(`^(\w+(?:\.\w+)*)-[0-9]{5}-of-[0-9]+[^/]*\.[^/]*$`)

// splitFile is a file of a split. rank is the place among files of the split before the path.
type splitFile struct {
	path string // relative to the folder, with slashes
	rank int
}

// splitsOf groups the files below a folder by splits: by the shards in their names, or else by the
// names of folders, or else by the names of files. A folder without such names has the split train.
func splitsOf(files []string) map[string][]splitFile {
	splits := map[string][]splitFile{}
	for _, f := range files {
		dir, base := path.Split(f)
		if m := sharded.FindStringSubmatch(base); m != nil && (dir == "" || dir == "data/") {
			splits[m[1]] = append(splits[m[1]], splitFile{path: f})
		}
	}
	if len(splits) > 0 {
		return sortSplits(splits)
	}
	for _, inFile := range []bool{false, true} {
		for _, f := range files {
			parts := strings.Split(f, "/")
			names := parts[:len(parts)-1]
			if inFile {
				names = parts[len(parts)-1:]
			}
			for _, name := range names {
				if s, rank, ok := splitOf(name, inFile); ok {
					splits[s] = append(splits[s], splitFile{f, rank})
					break
				}
			}
		}
		if len(splits) > 0 {
			return sortSplits(splits)
		}
	}
	for _, f := range files {
		splits["train"] = append(splits["train"], splitFile{path: f})
	}
	return sortSplits(splits)
}

func sortSplits(splits map[string][]splitFile) map[string][]splitFile {
	for _, list := range splits {
		slices.SortFunc(list, func(a, b splitFile) int {
			return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.path, b.path))
		})
	}
	return splits
}

// chooseSplit returns the split that is asked for, or the only one.
func chooseSplit(dir, split string, have []string) (string, error) {
	slices.Sort(have)
	switch {
	case split != "" && slices.Contains(have, split):
		return split, nil
	case split != "":
		return "", &errs.Error{Kind: errs.NotFound, Op: "reader.Detect", Subject: dir, Want: "the split " + split,
			Got: "the splits " + strings.Join(have, ", "), Remedy: errs.DidYouMean(split, have)}
	case len(have) == 1:
		return have[0], nil
	}
	return "", &errs.Error{Kind: errs.Invalid, Op: "reader.Detect", Subject: dir,
		Want: "a split, one of " + strings.Join(have, ", "),
		Got:  "no split", Remedy: "set split: " + have[0]}
}

// checkLeftOut returns an error if files with samples belong to no split and nobody asked for a
// split: folders of classes may stand beside a folder with the name of a split.
func checkLeftOut(dir, asked, split string, files []string, splits map[string][]splitFile) error {
	out := outside(files, splits, isSample)
	if asked != "" || len(out) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Op: "reader.Detect", Subject: dir, Want: "all files with samples in splits",
		Got:    fmt.Sprintf("the split %s, and %d beside it, such as %s", split, len(out), out[0]),
		Remedy: "set split: " + split + " to leave them out, or reader: file to read each folder as a class"}
}

// outside returns the files of a kind that belong to no split.
func outside(files []string, splits map[string][]splitFile, kind func(string) bool) (out []string) {
	in := make(map[string]bool, len(files))
	for _, list := range splits {
		for _, f := range list {
			in[f.path] = true
		}
	}
	for _, f := range files {
		if !in[f] && kind(f) {
			out = append(out, f)
		}
	}
	return out
}

// metadataNames are the files that say more about the images or sounds of a folder.
var metadataNames = []string{"metadata.csv", "metadata.jsonl", "metadata.parquet"}

// layoutOf finds data sets as Hugging Face's datasets lays them out in a folder. ok is false if the
// folder has no such layout.
func layoutOf(ctx context.Context, dir, split string) (name string, args op.Args, ok bool, err error) {
	entries, err := datafs.ReadDir(ctx, dir)
	if err != nil {
		return "", nil, false, nil // it is a file, a pattern, or not there: Expand says it
	}
	known := map[string]bool{}
	looks := split != ""
	for _, e := range entries {
		known[e.Name()] = true
		_, _, is := splitOf(e.Name(), !e.IsDir())
		switch {
		case e.IsDir() && (is || e.Name() == "data"):
			looks = true
		case slices.Contains(metadataNames, e.Name()):
			looks = true
		case is && mediumOf(e.Name()) != "":
			looks = true
		case strings.HasSuffix(e.Name(), ".parquet") && (is || sharded.MatchString(e.Name())):
			looks = true
		}
	}
	switch {
	case known[path.Dir(energonSplits)] && isFile(ctx, datafs.Join(dir, filepath.FromSlash(energonSplits))):
		name, args, err := energonOf(ctx, dir, split)
		return name, args, true, err
	case known["dataset_dict.json"]:
		return savedSplits(ctx, dir, split)
	case known["state.json"] && known["dataset_info.json"]:
		name, args, err := savedFiles(ctx, dir, split)
		return name, args, true, err
	case !looks || known["index.json"] || known["data.mdb"]:
		return "", nil, false, nil
	}
	files, err := filesBelow(ctx, dir)
	if err != nil {
		return "", nil, false, err
	}
	splits := splitsOf(files)
	for s, list := range splits { // a split needs data
		if !slices.ContainsFunc(list, func(f splitFile) bool { return isSample(f.path) }) {
			delete(splits, s)
		}
	}
	var have []string
	for s := range splits {
		have = append(have, s)
	}
	if len(have) == 0 {
		return "", nil, false, nil
	}
	asked := split
	if split, err = chooseSplit(dir, split, have); err != nil {
		return "", nil, false, err
	}
	if err := checkLeftOut(dir, asked, split, files, splits); err != nil {
		return "", nil, false, err
	}
	var paths []string
	for _, f := range splits[split] {
		if mediumOf(f.path) != "" {
			return folderName, op.Args{"path": dir, "split": split}, true, nil
		}
		if isSample(f.path) {
			paths = append(paths, datafs.Join(dir, filepath.FromSlash(f.path)))
		}
	}
	name, args, err = detect(ctx, paths)
	if err == nil && (name == "readers.parquet" || name == "readers.arrow") {
		args = withoutPaths(ctx, name, args)
	}
	return name, args, true, err
}

func isFile(ctx context.Context, path string) bool {
	info, err := datafs.Stat(ctx, path)
	return err == nil && info.Mode().IsRegular()
}

// isSample reports whether a file of a folder has samples: it has the name of a known format, and
// is no metadata.
func isSample(file string) bool {
	return !slices.Contains(metadataNames, path.Base(file)) && !side(file) &&
		(mediumOf(file) != "" || len(byName(formatList(), file)) > 0)
}

// filesBelow returns the files below a folder, relative to it, sorted by the bytes of their paths.
// Hidden files and folders, and files and folders whose names begin with "__", are left out.
func filesBelow(ctx context.Context, dir string) ([]string, error) {
	var files []string
	if datafs.IsURL(dir) {
		return filesBelowURL(ctx, dir)
	}
	dir = datafs.Local(dir)
	root := strings.TrimSuffix(dir, "/") + "/" // so that a link is followed
	err := filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fileError("reader.Detect", at, err)
		case ctx.Err() != nil:
			return fileError("reader.Detect", dir, ctx.Err())
		case at == root:
			return nil
		case strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "__"):
			if e.IsDir() {
				return fs.SkipDir
			}
		case !e.IsDir():
			rel, err := filepath.Rel(root, at)
			if err != nil {
				return fileError("reader.Detect", at, err)
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

// filesBelowURL is filesBelow for a folder of a bucket.
func filesBelowURL(ctx context.Context, dir string) (files []string, err error) {
	err = datafs.Below(ctx, dir, func(name string, _ fs.FileInfo) error {
		hidden := slices.ContainsFunc(strings.Split(name, "/"), func(element string) bool {
			return strings.HasPrefix(element, ".") || strings.HasPrefix(element, "__")
		})
		if !hidden {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, fileError("reader.Detect", dir, err)
	}
	return files, nil
}

// savedSplits finds a split of a folder that DatasetDict.save_to_disk wrote.
func savedSplits(ctx context.Context, dir, split string) (name string, args op.Args, ok bool, err error) {
	var dict struct {
		Splits []string `json:"splits"`
	}
	if err := readJSON(ctx, datafs.Join(dir, "dataset_dict.json"), &dict); err != nil {
		return "", nil, false, err
	}
	if len(dict.Splits) == 0 {
		return "", nil, false, &errs.Error{Kind: errs.Corrupt, Op: "reader.Detect", Subject: datafs.Join(dir,
			"dataset_dict.json"),
			Want: "at least one split", Got: "no split"}
	}
	for _, s := range dict.Splits {
		if !filepath.IsLocal(s) {
			return "", nil, false, &errs.Error{Kind: errs.Corrupt, Op: "reader.Detect",
				Subject: datafs.Join(dir,
					"dataset_dict.json"), Want: "splits that are folders beside the file", Got: fmt.Sprintf("%q", s)}
		}
	}
	if split, err = chooseSplit(dir, split, slices.Clone(dict.Splits)); err != nil {
		return "", nil, false, err
	}
	name, args, err = savedFiles(ctx, datafs.Join(dir, split), "")
	return name, args, true, err
}

// savedFiles finds the files of a folder that Dataset.save_to_disk wrote, in the order of its
// state.
func savedFiles(ctx context.Context, dir, split string) (name string, args op.Args, err error) {
	var state struct {
		Split *string                      `json:"_split"`
		Files []struct{ Filename *string } `json:"_data_files"`
	}
	at := datafs.Join(dir, "state.json")
	if err := readJSON(ctx, at, &state); err != nil {
		return "", nil, err
	}
	if split != "" && (state.Split == nil || *state.Split != split) {
		got := "no split"
		if state.Split != nil {
			got = *state.Split
		}
		return "", nil, &errs.Error{Kind: errs.NotFound, Op: "reader.Detect", Subject: dir, Want: "the split " + split,
			Got:    got,
			Remedy: "leave the split out: the folder has one"}
	}
	var paths []string
	for i, f := range state.Files {
		if f.Filename == nil || !filepath.IsLocal(*f.Filename) {
			return "", nil, &errs.Error{Kind: errs.Corrupt, Op: "reader.Detect", Subject: at,
				Want: fmt.Sprintf("the name of a file in the folder in _data_files[%d]", i), Got: "another"}
		}
		paths = append(paths, datafs.Join(dir, *f.Filename))
	}
	if len(paths) == 0 {
		return "", nil, &errs.Error{Kind: errs.Corrupt, Op: "reader.Detect", Subject: at,
			Want: "at least one file in _data_files",
			Got:  "no file"}
	}
	if _, at, err := datafs.StatAll(ctx, paths); err != nil {
		return "", nil, fileError("reader.Detect", paths[at], err)
	}
	if _, err := Schema("readers.arrow"); err != nil {
		return "", nil, err
	}
	return "readers.arrow", withoutPaths(ctx, "readers.arrow", op.Args{"paths": paths}), nil
}

// withoutPaths leaves out where the writer had images and sounds, which are stored in structs of
// bytes and path: the path is null for most, and a null is an error of its sample.
func withoutPaths(ctx context.Context, name string, args op.Args) op.Args {
	paths, _ := args["paths"].([]string)
	if len(paths) == 0 {
		return args
	}
	first, err := Open(ctx, name, op.Args{"paths": paths[:1]})
	if err != nil {
		return args // opening the data says it
	}
	defer first.Close() //nolint:errcheck // only read
	var keep []string
	for _, column := range first.Names() {
		of, ok := strings.CutSuffix(column, ".path")
		if !ok || !slices.Contains(first.Names(), of+".bytes") {
			keep = append(keep, column)
		}
	}
	if len(keep) < len(first.Names()) {
		args["columns"] = keep
	}
	return args
}

// mostJSON bounds the files that describe a data set.
const mostJSON = 64 << 20

// readText reads a file that describes a data set.
func readText(ctx context.Context, at string) ([]byte, error) {
	info, err := datafs.Stat(ctx, at)
	if err == nil && info.Size() > mostJSON {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: "reader.Detect", Subject: at,
			Want: fmt.Sprintf("at most %d bytes", mostJSON), Got: fmt.Sprint(info.Size())}
	}
	var b []byte
	if err == nil {
		b, err = datafs.ReadFile(ctx, at)
	}
	if err != nil {
		return nil, fileError("reader.Detect", at, err)
	}
	return b, nil
}

func readJSON(ctx context.Context, at string, to any) error {
	b, err := readText(ctx, at)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: "reader.Detect", Subject: at,
			Want: "JSON as Hugging Face's datasets writes it",
			Got:  err.Error()}
	}
	return nil
}
