kernel packed_rows(x: u4[48, 64], y: mut u4[64, 48])
    grid [1]
    threads 96
{
    copy(load(x).T, y);
}
