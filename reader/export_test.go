package reader

// For tests of the list of formats.
var (
	FormatList       = formatList
	RecordFormatList = recordFormats
)

// SplitsOf returns the number of files of each split.
func SplitsOf(files []string) map[string]int {
	n := map[string]int{}
	for s, list := range splitsOf(files) {
		n[s] = len(list)
	}
	return n
}
