package reader

// For tests of the list of formats.
var (
	FormatList       = formatList
	RecordFormatList = recordFormats
)
