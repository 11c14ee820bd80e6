/* The libjpeg-turbo side of bench/pipeline: decodes all images of a data set to RGB
 * with the defaults of the library, one after the other, and folds their words into
 * one, as the other sides do. Requests and answers are those of peers.py. */
#include <dirent.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

static struct { unsigned char *bytes; size_t size; } *files;
static size_t count;
static unsigned char *pixels;
static size_t room;
static volatile uint64_t folded;

static void add(const char *path) {
	FILE *f = fopen(path, "rb");
	if (!f) return;
	fseek(f, 0, SEEK_END);
	long size = ftell(f);
	rewind(f);
	files = realloc(files, (count + 1) * sizeof *files);
	files[count].bytes = malloc(size);
	files[count].size = fread(files[count].bytes, 1, size, f);
	count++;
	fclose(f);
}

/* load reads data/train/<class>/<image>. */
static void load(const char *data) {
	char train[4096], class[8192], path[16384];
	snprintf(train, sizeof train, "%s/train", data);
	DIR *classes = opendir(train);
	for (struct dirent *c; classes && (c = readdir(classes));) {
		if (c->d_name[0] == '.') continue;
		snprintf(class, sizeof class, "%s/%s", train, c->d_name);
		DIR *images = opendir(class);
		for (struct dirent *i; images && (i = readdir(images));) {
			if (i->d_name[0] == '.') continue;
			snprintf(path, sizeof path, "%s/%s", class, i->d_name);
			add(path);
		}
		if (images) closedir(images);
	}
	if (classes) closedir(classes);
}

static void decode(struct jpeg_decompress_struct *d, size_t n) {
	jpeg_mem_src(d, files[n].bytes, files[n].size);
	jpeg_read_header(d, TRUE);
	d->out_color_space = JCS_RGB;
	jpeg_start_decompress(d);
	size_t stride = (size_t)d->output_width * 3, size = stride * d->output_height;
	if (size > room) pixels = realloc(pixels, room = size);
	while (d->output_scanline < d->output_height) {
		JSAMPROW row[8];
		for (int i = 0; i < 8; i++) row[i] = pixels + stride * (d->output_scanline + i);
		jpeg_read_scanlines(d, row, 8);
	}
	jpeg_finish_decompress(d);
	uint64_t sum = 0, word;
	for (size_t i = 0; i + 8 <= size; i += 8) {
		memcpy(&word, pixels + i, 8);
		sum ^= word;
	}
	folded ^= sum;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(void) {
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr errors;
	d.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&d);
	static char line[1 << 16];
	while (fgets(line, sizeof line, stdin)) {
		char *data = strstr(line, "\"data\":\"");
		if (data) {
			data += strlen("\"data\":\"");
			char *end = strchr(data, '"');
			if (end) *end = 0;
			load(data);
			printf("ANSWER {\"note\": \"libjpeg %d, %zu files\"}\n", JPEG_LIB_VERSION, count);
		} else {
			double start = now();
			for (size_t n = 0; n < count; n++) decode(&d, n);
			printf("ANSWER {\"seconds\": %.9f, \"units\": %zu}\n", now() - start, count);
		}
		fflush(stdout);
	}
	jpeg_destroy_decompress(&d);
	return 0;
}
