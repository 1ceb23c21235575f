(define (problem harbour-3)
  (:domain harbour)
  (:objects quay1 quay2 quay3 quay4 - quay
            crate1 crate2 crate3 crate4 crate5 crate6 crate7 crate8 crate9 crate10 crate11 crate12 - crate
            fore aft - berth)
  (:init (moored quay1) (vacant fore) (vacant aft) (channel quay1 quay2) (channel quay2 quay1)
         (channel quay2 quay3) (channel quay3 quay2) (channel quay3 quay4) (channel quay4 quay3)
         (channel quay4 quay1) (channel quay1 quay4) (lies crate1 quay2) (lies crate2 quay2)
         (lies crate3 quay4) (lies crate4 quay1) (lies crate5 quay1) (lies crate6 quay3)
         (lies crate7 quay2) (lies crate8 quay4) (lies crate9 quay4) (lies crate10 quay2)
         (lies crate11 quay2) (lies crate12 quay4))
  (:goal (and (lies crate1 quay3) (lies crate2 quay4) (lies crate3 quay3) (lies crate4 quay3)
              (lies crate5 quay2) (lies crate6 quay4) (lies crate7 quay1) (lies crate8 quay3)
              (lies crate9 quay2) (lies crate10 quay1) (lies crate11 quay3) (lies crate12 quay3))))
