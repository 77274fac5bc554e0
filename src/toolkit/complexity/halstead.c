/* Halstead's measures from the four counts (measure.h). */
#include "toolkit/complexity/measure.h"

#include <math.h>

double complexity_halstead_volume(const ComplexityHalstead *h)
{
    double vocabulary = (double)h->n1 + (double)h->n2;
    double length = (double)h->N1 + (double)h->N2;

    return h->n2 == 0 ? 0.0 : length * log2(vocabulary);
}

double complexity_halstead_difficulty(const ComplexityHalstead *h)
{
    return h->n2 == 0 ? 0.0 : (double)h->n1 / 2.0 * ((double)h->N2 / (double)h->n2);
}

double complexity_halstead_effort(const ComplexityHalstead *h)
{
    return complexity_halstead_difficulty(h) * complexity_halstead_volume(h);
}
