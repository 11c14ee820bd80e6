package index

import "slices"

// piece says where an index that join made has the records of a file: in file number file of x.
type piece struct {
	x    *Index
	file int
}

// join returns an index of files that several indexes have. It takes the place of first: Close
// closes first alone, so the others must be in memory.
func join(first *Index, pieces []piece) *Index {
	j := &Index{header: header{Format: first.Format()}, close: first.close, pieces: pieces}
	seen := map[*Index]bool{}
	for _, p := range pieces {
		from, to := p.x.In(p.file)
		f := p.x.files[p.file]
		f.First = j.records
		j.files, j.under = append(j.files, f), append(j.under, from)
		j.records += to - from
		if seen[p.x] {
			continue
		}
		seen[p.x] = true
		for _, name := range p.x.names {
			if !slices.Contains(j.names, name) {
				j.names = append(j.names, name)
			}
		}
	}
	return j
}
