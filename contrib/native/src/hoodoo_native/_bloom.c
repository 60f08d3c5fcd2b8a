/* The loops of Hudi's bloom filters: murmur2 of record keys, seeded with the round before, and one bit for each round.
 *
 * A round needs the result of the round before, so one key alone leaves most of a processor idle. LANES keys go side by
 * side: the compiler makes vector instructions of the loops over lanes. Functions take addresses; hoodoo_native checks
 * what they point to.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LANES 64
#define M UINT32_C(0x5bd1e995)
#define WORDS 64 /* of a key of 256 bytes: longer ones take memory of the heap */
#define WAITING 4096 /* bits that are set together: large filters are not in a cache, so they are fetched before */

#ifdef __GNUC__
#define FETCH(at) __builtin_prefetch((at), 1)
#else
#define FETCH(at) ((void)0)
#endif

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EACH_PROCESSOR
#endif

/* Up to LANES keys. Lanes without a key have the length 0; their positions are not looked at. */
typedef struct {
    uint32_t lengths[LANES], tails[LANES], last[LANES], count[LANES], h[LANES];
    uint32_t most;   /* words of the longest key */
    uint32_t *words; /* word i of lane l at [i * LANES + l], mixed */
} Keys;

static uint32_t little(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void load(Keys *keys, int lane, const uint8_t *key, uint32_t length) {
    uint32_t tail = 0;
    keys->lengths[lane] = length;
    keys->count[lane] = length >> 2;
    keys->last[lane] = length & 3 ? M : 1;
    for (uint32_t i = 0; i < length >> 2; i++) {
        uint32_t k = little(key + 4 * i) * M;
        k = (k ^ k >> 24) * M;
        keys->words[i * LANES + lane] = k;
    }
    /* The tail is counted from the end of the key, and its bytes have a sign. */
    for (uint32_t back = 1; back <= (length & 3); back++)
        tail ^= (uint32_t)(int32_t)(int8_t)key[length - back] << 8 * (back - 1);
    keys->tails[lane] = tail;
}

EACH_PROCESSOR
static void next_round(Keys *keys) {
    uint32_t h[LANES];
    for (int l = 0; l < LANES; l++) h[l] = keys->h[l] ^ keys->lengths[l];
    for (uint32_t i = 0; i < keys->most; i++) {
        const uint32_t *word = keys->words + i * LANES;
        for (int l = 0; l < LANES; l++) h[l] = i < keys->count[l] ? h[l] * M ^ word[l] : h[l];
    }
    for (int l = 0; l < LANES; l++) {
        uint32_t x = (h[l] ^ keys->tails[l]) * keys->last[l];
        x = (x ^ x >> 13) * M;
        keys->h[l] = x ^ x >> 15;
    }
}

/* Remainders by multiplication: Lemire, Kaser, Kurz, "Faster remainder by direct computation", 2019. */
static uint32_t place(uint32_t h, uint64_t inverse, uint32_t size) {
    uint32_t value = (int32_t)h < 0 ? 0 - h : h;
#ifdef __SIZEOF_INT128__
    return (uint32_t)((__uint128_t)(inverse * value) * size >> 64);
#else
    (void)inverse;
    return value % size;
#endif
}

typedef struct {
    const void *offsets;
    int wide; /* offsets of 64 bits */
    const uint8_t *data;
    int64_t bytes; /* of data */
    const uint8_t *valid;
    int64_t start, number; /* of the keys in offsets, and in valid */
    uint32_t hashes, size;
    uint8_t *bits, *found; /* found: NULL: bits are set */
} Job;

static int64_t offset(const Job *job, int64_t i) {
    return job->wide ? ((const int64_t *)job->offsets)[i] : ((const int32_t *)job->offsets)[i];
}

/* The next keys from *at that are no nulls: how many, and which. */
static int take(const Job *job, Keys *keys, int64_t *at, int64_t rows[LANES]) {
    int n = 0;
    uint32_t most = 0;
    for (; n < LANES && *at < job->number; ++*at) {
        int64_t row = job->start + *at;
        if (job->valid && !(job->valid[row >> 3] >> (row & 7) & 1)) continue;
        int64_t begin = offset(job, row);
        uint32_t length = (uint32_t)(offset(job, row + 1) - begin);
        load(keys, n, job->data + begin, length);
        if (length >> 2 > most) most = length >> 2;
        rows[n++] = *at;
    }
    for (int l = n; l < LANES; l++) keys->lengths[l] = keys->tails[l] = keys->last[l] = keys->count[l] = 0;
    memset(keys->h, 0, sizeof keys->h);
    keys->most = most;
    return n;
}

static void set(uint8_t *bits, const uint32_t *places, size_t number) {
    for (size_t i = 0; i < number; i++) bits[places[i] >> 3] |= (uint8_t)(1 << (places[i] & 7));
}

static void fill(const Job *job, Keys *keys) {
    uint64_t inverse = UINT64_MAX / job->size + 1;
    int64_t rows[LANES];
    uint32_t waiting[WAITING];
    size_t number = 0;
    for (int64_t at = 0; at < job->number;) {
        int n = take(job, keys, &at, rows);
        for (uint32_t round = 0; round < job->hashes; round++) {
            next_round(keys);
            if (number + LANES > WAITING) {
                set(job->bits, waiting, number);
                number = 0;
            }
            for (int l = 0; l < n; l++) {
                uint32_t p = place(keys->h[l], inverse, job->size);
                FETCH(job->bits + (p >> 3));
                waiting[number++] = p;
            }
        }
    }
    set(job->bits, waiting, number);
}

static void find(const Job *job, Keys *keys) {
    uint64_t inverse = UINT64_MAX / job->size + 1;
    int64_t rows[LANES];
    for (int64_t at = 0; at < job->number;) {
        int n = take(job, keys, &at, rows);
        uint8_t has[LANES];
        memset(has, 1, sizeof has);
        for (uint32_t round = 0, left = n; round < job->hashes && left; round++) {
            next_round(keys);
            left = 0;
            for (int l = 0; l < n; l++) {
                uint32_t p = place(keys->h[l], inverse, job->size);
                has[l] &= (uint8_t)(job->bits[p >> 3] >> (p & 7));
                left |= has[l];
            }
        }
        for (int l = 0; l < n; l++) job->found[rows[l]] = has[l];
    }
}

enum { DONE, NO_MEMORY, WRONG_OFFSETS };

static int whole(const Job *job) {
    static const size_t usual = WORDS;
    uint32_t some[WORDS * LANES];
    size_t most = usual;
    for (int64_t i = job->start; i < job->start + job->number; i++) {
        int64_t begin = offset(job, i), end = offset(job, i + 1);
        if (begin < 0 || end < begin || end > job->bytes || end - begin > INT32_MAX) return WRONG_OFFSETS;
        if ((size_t)(end - begin) / 4 > most) most = (size_t)(end - begin) / 4;
    }
    Keys keys;
    keys.words = most == usual ? some : malloc(most * LANES * sizeof *some);
    if (!keys.words) return NO_MEMORY;
    memset(keys.words, 0, most * LANES * sizeof *some);
    (job->found ? find : fill)(job, &keys);
    if (keys.words != some) free(keys.words);
    return DONE;
}

static PyObject *with_keys(PyObject *self, PyObject *arguments) {
    (void)self;
    unsigned long long offsets, data, valid, bits, found;
    long long bytes, start, number;
    unsigned int hashes, size;
    int wide;
    if (!PyArg_ParseTuple(arguments, "KpKLKLLIIKK", &offsets, &wide, &data, &bytes, &valid, &start, &number, &hashes,
                          &size, &bits, &found))
        return NULL;
    if (!size) {
        PyErr_SetString(PyExc_ValueError, "a filter has at least one bit");
        return NULL;
    }
    Job job = {
        .offsets = (const void *)(uintptr_t)offsets, .wide = wide,
        .data = (const uint8_t *)(uintptr_t)data, .bytes = bytes,
        .valid = (const uint8_t *)(uintptr_t)valid, .start = start, .number = number,
        .hashes = hashes, .size = size,
        .bits = (uint8_t *)(uintptr_t)bits, .found = (uint8_t *)(uintptr_t)found,
    };
    int end;
    Py_BEGIN_ALLOW_THREADS
    end = whole(&job);
    Py_END_ALLOW_THREADS
    if (end == NO_MEMORY) return PyErr_NoMemory();
    if (end == WRONG_OFFSETS) {
        PyErr_SetString(PyExc_ValueError, "keys: their offsets lead out of their bytes");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"with_keys", with_keys, METH_VARARGS,
     "with_keys(offsets, wide, data, bytes, valid, start, number, hashes, size, bits, found): set the bits of keys, or, where "
     "found is not 0, look for them. Addresses are not checked."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_bloom", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__bloom(void) { return PyModuleDef_Init(&module); }
