// SPDX-License-Identifier: Apache-2.0
// One pass of a Fourier transform: butterflies of `radix` runs, each run multiplied with a factor
// of its own. Included only by vector_body.h, inside its unnamed namespace.

/// Where run `r` of a group's results goes, and what it is multiplied with.
struct FourierTarget {
    float *re, *im;
    float wr, wi;
};

inline FourierTarget fourierTarget(const FourierPass& pass, float* re, float* im, size_t group,
                                   size_t r) {
    const size_t at = (group * pass.radix + r) * pass.run;
    if (r == 0)
        return {re + at, im + at, 1, 0};
    const float* factor = pass.factors + 2 * (group * (pass.radix - 1) + r - 1);
    return {re + at, im + at, factor[0], factor[1]};
}

inline void putFourier(const FourierTarget& to, size_t i, float re, float im) {
    to.re[i] = re * to.wr - im * to.wi;
    to.im[i] = re * to.wi + im * to.wr;
}

void fourierPass2(const FourierPass& pass, const float* re, const float* im, float* outRe,
                  float* outIm) {
    const size_t apart = pass.groups * pass.run;
    for (size_t g = 0; g < pass.groups; ++g) {
        const float *ar = re + g * pass.run, *ai = im + g * pass.run;
        const float *br = ar + apart, *bi = ai + apart;
        const FourierTarget t0 = fourierTarget(pass, outRe, outIm, g, 0),
                            t1 = fourierTarget(pass, outRe, outIm, g, 1);
#pragma GCC ivdep
        for (size_t i = 0; i < pass.run; ++i) {
            t0.re[i] = ar[i] + br[i];
            t0.im[i] = ai[i] + bi[i];
            putFourier(t1, i, ar[i] - br[i], ai[i] - bi[i]);
        }
    }
}

void fourierPass3(const FourierPass& pass, const float* re, const float* im, float* outRe,
                  float* outIm) {
    constexpr float half = 0.5F, sine = 0.8660254037844386F;
    const size_t apart = pass.groups * pass.run;
    for (size_t g = 0; g < pass.groups; ++g) {
        const float *ar = re + g * pass.run, *ai = im + g * pass.run;
        const float *br = ar + apart, *bi = ai + apart, *cr = br + apart, *ci = bi + apart;
        const FourierTarget t0 = fourierTarget(pass, outRe, outIm, g, 0),
                            t1 = fourierTarget(pass, outRe, outIm, g, 1),
                            t2 = fourierTarget(pass, outRe, outIm, g, 2);
#pragma GCC ivdep
        for (size_t i = 0; i < pass.run; ++i) {
            const float sr = br[i] + cr[i], si = bi[i] + ci[i];
            const float dr = sine * (br[i] - cr[i]), di = sine * (bi[i] - ci[i]);
            const float mr = ar[i] - half * sr, mi = ai[i] - half * si;
            t0.re[i] = ar[i] + sr;
            t0.im[i] = ai[i] + si;
            putFourier(t1, i, mr + di, mi - dr);
            putFourier(t2, i, mr - di, mi + dr);
        }
    }
}

void fourierPass4(const FourierPass& pass, const float* re, const float* im, float* outRe,
                  float* outIm) {
    const size_t apart = pass.groups * pass.run;
    for (size_t g = 0; g < pass.groups; ++g) {
        const float *ar = re + g * pass.run, *ai = im + g * pass.run;
        const float *br = ar + apart, *bi = ai + apart, *cr = br + apart, *ci = bi + apart,
                    *dr = cr + apart, *di = ci + apart;
        const FourierTarget t0 = fourierTarget(pass, outRe, outIm, g, 0),
                            t1 = fourierTarget(pass, outRe, outIm, g, 1),
                            t2 = fourierTarget(pass, outRe, outIm, g, 2),
                            t3 = fourierTarget(pass, outRe, outIm, g, 3);
#pragma GCC ivdep
        for (size_t i = 0; i < pass.run; ++i) {
            const float acr = ar[i] + cr[i], aci = ai[i] + ci[i];
            const float bdr = br[i] + dr[i], bdi = bi[i] + di[i];
            const float xr = ar[i] - cr[i], xi = ai[i] - ci[i];
            const float yr = br[i] - dr[i], yi = bi[i] - di[i];
            t0.re[i] = acr + bdr;
            t0.im[i] = aci + bdi;
            putFourier(t1, i, xr + yi, xi - yr);
            putFourier(t2, i, acr - bdr, aci - bdi);
            putFourier(t3, i, xr - yi, xi + yr);
        }
    }
}

/// The sum of products itself: run r is the sum over j of run j times root j * r.
void fourierPassAny(const FourierPass& pass, const float* re, const float* im, float* outRe,
                    float* outIm) {
    const size_t apart = pass.groups * pass.run;
    for (size_t g = 0; g < pass.groups; ++g)
        for (size_t r = 0; r < pass.radix; ++r) {
            const FourierTarget to = fourierTarget(pass, outRe, outIm, g, r);
            const float *ar = re + g * pass.run, *ai = im + g * pass.run;
            for (size_t i = 0; i < pass.run; ++i) {
                to.re[i] = ar[i];
                to.im[i] = ai[i];
            }
            for (size_t j = 1; j < pass.radix; ++j) {
                const float* root = pass.roots + 2 * (j * r % pass.radix);
                const float wr = root[0], wi = root[1];
                const float *xr = ar + j * apart, *xi = ai + j * apart;
#pragma GCC ivdep
                for (size_t i = 0; i < pass.run; ++i) {
                    to.re[i] += xr[i] * wr - xi[i] * wi;
                    to.im[i] += xr[i] * wi + xi[i] * wr;
                }
            }
            if (r > 0)
                for (size_t i = 0; i < pass.run; ++i)
                    putFourier(to, i, to.re[i], to.im[i]);
        }
}

void fourierPass(const FourierPass& pass, const float* re, const float* im, float* outRe,
                 float* outIm) {
    switch (pass.radix) {
    case 2:
        return fourierPass2(pass, re, im, outRe, outIm);
    case 3:
        return fourierPass3(pass, re, im, outRe, outIm);
    case 4:
        return fourierPass4(pass, re, im, outRe, outIm);
    default:
        return fourierPassAny(pass, re, im, outRe, outIm);
    }
}
