package object

import "io"

// Size returns the bytes of pieces of memory.
func Size(pieces [][]byte) (n int64) {
	for _, p := range pieces {
		n += int64(len(p))
	}
	return n
}

// Fill fills the pieces, in their order, from r. It fails as io.ReadFull does.
func Fill(r io.Reader, pieces [][]byte) error {
	for _, p := range pieces {
		if _, err := io.ReadFull(r, p); err != nil {
			return err
		}
	}
	return nil
}

// spread copies b into pieces of the same size together.
func spread(pieces [][]byte, b []byte) {
	for _, p := range pieces {
		b = b[copy(p, b):]
	}
}

// split cuts pieces into lists of n bytes each; the last one may have less.
func split(pieces [][]byte, n int64) (lists [][][]byte) {
	var list [][]byte
	left := n
	for _, p := range pieces {
		for len(p) > 0 {
			m := min(left, int64(len(p)))
			list = append(list, p[:m])
			p = p[m:]
			if left -= m; left == 0 {
				lists, list, left = append(lists, list), nil, n
			}
		}
	}
	if list != nil {
		lists = append(lists, list)
	}
	return lists
}
